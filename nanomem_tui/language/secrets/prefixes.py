r"""Keys and tokens that are recognised by how they begin: one table, a line for each form.

To add a vendor, add a line: the kind as a report names it, the literal beginnings (separated by blanks), and a regular
expression for what follows them; two blanks or more between columns. `random` in a fourth column asks for letters and
digits in a varied mix, for beginnings that ordinary names have too; `real` refuses the vendor's documented example.
In the third column `\w` is ASCII. Each kind also needs a line in tests/data/secrets.jsonl.
"""

from __future__ import annotations

PREFIXES = r"""
Anthropic key           sk-ant-                                       [\w-]{20,}
OpenRouter key          sk-or-                                        (?:v1-)?[\w-]{20,}
Langfuse key            sk-lf- pk-lf-                                 [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
OpenAI key              sk-                                           (?:proj-|svcacct-|admin-|None-)?[\w-]{20,}      random
AWS access key          AKIA ASIA ABIA ACCA AROA AIDA                 [A-Z0-9]{16}(?!\w)                             real
Amazon Bedrock key      ABSK                                          [A-Za-z0-9+/]{100,}={0,2}
GitHub token            ghp_ gho_ ghu_ ghs_ ghr_                      [A-Za-z0-9]{30,255}(?!\w)
GitHub token            github_pat_                                   \w{40,255}
GitLab token            glpat- glptt- gldt- glrt- glcbt- glsoat- glagent- glft- glimt- glffct- gloas-  [\w.-]{20,}
Bitbucket token         ATBB                                          [A-Za-z0-9]{28,36}(?!\w)                       random
Atlassian token         ATATT3 ATCTT3                                 [\w=-]{40,}
Slack token             xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe. xapp-  [\w.-]{10,}
Slack webhook           https://hooks.slack.com/                      (?:services|workflows|triggers)/[\w/+-]{20,}
Discord webhook         https://discord.com/api/ https://discordapp.com/api/ https://ptb.discord.com/api/ https://canary.discord.com/api/  (?:v\d+/)?webhooks/\d{15,21}/[\w-]{40,}
Zapier webhook          https://hooks.zapier.com/hooks/catch/         \d{5,9}/[\w/]{6,}
Make webhook            https://hook.eu1.make.com/ https://hook.eu2.make.com/ https://hook.us1.make.com/ https://hook.us2.make.com/  [a-z0-9]{20,}
Feishu webhook          https://open.feishu.cn/open-apis/bot/ https://open.larksuite.com/open-apis/bot/  (?:v\d/)?hook/[\w-]{20,}
DingTalk webhook        https://oapi.dingtalk.com/robot/send?         access_token=[0-9a-f]{40,}
WeCom webhook           https://qyapi.weixin.qq.com/cgi-bin/webhook/  send\?key=[\w-]{30,}
IFTTT key               https://maker.ifttt.com/trigger/              [\w-]{1,60}/(?:json/)?with/key/[\w-]{20,}
Google API key          AIza                                          [\w-]{35}(?![\w-])
Google OAuth secret     GOCSPX-                                       [\w-]{20,}
Google OAuth secret     ya29.                                         [\w-]{20,}
Google refresh token    1//0                                          [\w-]{30,}
Stripe key              sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_  [A-Za-z0-9]{16,}(?!\w)
Stripe key              whsec_                                        [A-Za-z0-9+/]{24,}={0,2}
Hugging Face token      hf_ api_org_                                  [A-Za-z0-9]{30,}(?!\w)
Vault token             hvs. hvb. hvr.                                [\w-]{20,}
npm token               npm_                                          [A-Za-z0-9]{36}(?!\w)
PyPI token              pypi-                                         [\w-]{50,}
RubyGems key            rubygems_                                     [0-9a-f]{48}(?!\w)
Crates.io token         cio                                           [A-Za-z0-9]{32}(?!\w)                          random
Clojars token           CLOJARS_                                      [0-9a-zA-Z]{40,}
SendGrid key            SG.                                           [\w-]{16,}\.[\w-]{32,}
Mailgun key             key-                                          [0-9a-z]{32}(?!\w)                           random
Mailchimp key           mc-us                                         \d{1,2}-[0-9a-f]{32}(?!\w)
Brevo key               xkeysib- xsmtpsib-                            [0-9a-f]{64}-[A-Za-z0-9]{16}
Resend key              re_                                           [A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}(?!\w)       random
Twilio key              SK AC                                         [0-9a-f]{32}(?!\w)
Telnyx key              KEY0                                          [0-9A-F]{31}_[A-Za-z0-9]{22}
DigitalOcean token      dop_v1_ doo_v1_ dor_v1_                       [0-9a-f]{64}(?!\w)
Shopify token           shpat_ shpca_ shppa_ shpss_ shptka_           [0-9a-fA-F]{32}(?!\w)
Square token            sq0atp- sq0csp- sq0idp-                       [\w-]{22,50}
Square token            EAAA                                          [\w+/=-]{56,}                                  random
PayPal key              access_token$                                 (?:production|sandbox)\$[0-9a-z]{13,20}\$[0-9a-f]{32}
Plaid token             access-production- access-sandbox- access-development-  [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
Shippo key              shippo_live_ shippo_test_                     [0-9a-f]{40}(?!\w)
Lob key                 live_ test_                                   [0-9a-f]{35}(?!\w)
EasyPost key            EZAK EZTK                                     [A-Za-z0-9]{54}(?!\w)
Flutterwave key         FLWSECK_ FLWSECK-                             (?:TEST-)?[0-9A-Za-z]{12,}
Razorpay key            rzp_live_ rzp_test_                           [A-Za-z0-9]{14}(?!\w)                          random
Groq or xAI key         gsk_                                          [A-Za-z0-9]{40,}(?!\w)
Groq or xAI key         xai-                                          [A-Za-z0-9]{60,}(?!\w)
Tavily key              tvly-                                         (?:dev-|prod-)?[A-Za-z0-9-]{20,}               random
NVIDIA key              nvapi-                                        [\w-]{40,}
Replicate token         r8_                                           [A-Za-z0-9]{30,42}(?!\w)                       random
Perplexity key          pplx-                                         [A-Za-z0-9]{32,}(?!\w)
Firecrawl key           fc-                                           [0-9a-f]{32}(?!\w)
Jina key                jina_                                         [A-Za-z0-9_-]{40,}                             random
Supermemory key         sm_                                           [A-Za-z0-9_-]{32,}                             random
ElevenLabs key          sk_                                           [0-9a-f]{48}(?!\w)
LangSmith key           lsv2_pt_ lsv2_sk_                             [0-9a-f]{32}_[0-9a-f]{10}
Cerebras key            csk-                                          [a-z0-9]{40,}(?!\w)                            random
Fireworks key           fw_ fpk_                                      [A-Za-z0-9]{20,}(?!\w)                         random
Together key            tgp_v1_                                       [\w-]{40,}
Voyage key              pa-                                           [A-Za-z0-9_-]{40,}                             random
Pinecone key            pcsk_                                         [A-Za-z0-9_]{50,}
Apify token             apify_api_                                    [A-Za-z0-9]{30,}(?!\w)
Brave Search key        BSA                                           [A-Za-z0-9_-]{27,28}(?![\w-])                  random
Composio key            ak_                                           [A-Za-z0-9_-]{20}(?![\w-])                     random
Docker token            dckr_pat_ dckr_oat_                           [\w-]{20,}
Linear key              lin_api_ lin_oauth_                           [A-Za-z0-9]{32,}(?!\w)
Notion token            ntn_                                          [A-Za-z0-9]{40,}(?!\w)
Notion token            secret_                                       [A-Za-z0-9]{43}(?!\w)                          random
Figma token             figd_                                         [\w-]{32,}
Postman key             PMAK-                                         [0-9a-f]{24}-[0-9a-f]{34}
Grafana token           glsa_                                         [A-Za-z0-9]{32}_[0-9a-fA-F]{8}
Grafana token           glc_                                          [A-Za-z0-9+/]{32,}={0,2}                       random
New Relic key           NRAK- NRJS- NRII-                             [A-Za-z0-9_-]{19,40}                           random
Sentry token            sntrys_                                       [A-Za-z0-9+/=_]{60,}
Sentry token            sntryu_                                       [0-9a-f]{64}(?!\w)
Datadog key             ddapp_ ddapi_                                 [A-Za-z0-9]{32,}(?!\w)
Dynatrace token         dt0c01. dt0s01. dt0s16.                       [A-Z0-9]{8,24}\.[A-Z0-9]{64}
Sumo or PostHog key     phc_ phx_ phs_                                [A-Za-z0-9]{40,}(?!\w)                         random
Netlify token           nfp_                                          [A-Za-z0-9]{36,}(?!\w)
Vercel token            vcp_ vca_ vci_ vcr_ vck_ vercel_blob_rw_      [A-Za-z0-9_]{24,}                              random
Supabase key            sbp_                                          (?:v0_)?[0-9a-f]{40}(?!\w)
Supabase key            sb_secret_                                    [\w-]{20,}
Fly token               fo1_                                          [\w-]{40,}(?![\w-])
Fly token               fm1r_ fm2_ fm1a_                              [A-Za-z0-9+/=]{60,}
Render key              rnd_                                          [A-Za-z0-9]{28,}(?!\w)                         random
Railway or Koyeb token  rwy_ koyeb_                                   [A-Za-z0-9]{32,}(?!\w)                         random
PlanetScale password    pscale_tkn_ pscale_pw_ pscale_oauth_          [\w.-]{32,}
Neon key                napi_ neon_api_                               [a-z0-9]{40,}(?!\w)                            random
Turso or Upstash key    upstash_                                      [A-Za-z0-9]{32,}(?!\w)                         random
Heroku key              HRKU-                                         [\w-]{36,}
Databricks token        dapi                                          [0-9a-f]{32}(?:-\d)?(?!\w)
Doppler token           dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.  (?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,44}(?!\w)
Infisical token         st.                                           [0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}
1Password token         ops_eyJ                                       [A-Za-z0-9+/=_-]{100,}
1Password secret key    A3-                                           [A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?!\w)
Cloudflare token        cfut_ cfat_ cfk_ cfoat_                       [A-Za-z0-9_-]{36,}
Cloudflare token        v1.0-                                         [0-9a-f]{24}-[0-9a-f]{140,}
Tailscale key           tskey-                                        (?:auth|api|client|scim|webhook)-[\w-]{20,}
ngrok token             ngrok_                                        [A-Za-z0-9_]{36,}                              random
Pulumi token            pul-                                          [0-9a-f]{40}(?!\w)
Terraform or OpenTofu token  tfc_ tfe_                                [A-Za-z0-9]{32,}(?!\w)                         random
CircleCI token          CCIPAT_ CCIPRJ_                               [A-Za-z0-9]{18,}_[0-9a-f]{40}(?!\w)
Buildkite token         bkua_ bkat_ bkct_                             [0-9a-f]{40,}(?!\w)
Snyk or Sonar token     sqp_ squ_ sqa_ snyk_uat.                      [0-9a-zA-Z._-]{40,}                            random
Artifactory key         AKCp                                          [A-Za-z0-9]{60,}(?!\w)
Mapbox token            sk.eyJ                                        [\w-]{20,}\.[\w-]{20,}
Dropbox token           sl.                                           (?:u\.)?[\w-]{120,}                            random
Asana token             2/ 1/                                         \d{13,17}/\d{13,17}:[0-9a-f]{32}(?!\w)
Airtable token          pat                                           [A-Za-z0-9]{14}\.[0-9a-f]{64}(?!\w)
Contentful token        CFPAT-                                        [\w-]{40,}
Typeform token          tfp_                                          [\w.-]{40,}
ClickUp token           pk_                                           \d{6,10}_[A-Z0-9]{32}(?!\w)
Intercom or HubSpot token  pat-na1- pat-na2- pat-eu1- pat-ap1-        [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
Rootly key              rootly_                                       [0-9a-f]{64}(?!\w)
Facebook token          EAAG EAAC EAAB EAAD EAAE EAAF EAAH            [A-Za-z0-9]{60,}(?!\w)
Instagram token         IGQV IGAA                                     [\w-]{80,}
Twitter bearer token    AAAAAAAAAAAAAAAAAAAAA                         [A-Za-z0-9%]{60,}
Twitch token            oauth:                                        [a-z0-9]{30}(?!\w)                             random
Alibaba key             LTAI                                          [A-Za-z0-9]{16,24}(?!\w)                       random
Tencent key             AKID                                          [A-Za-z0-9]{32,36}(?!\w)                       random
Yandex key              AQVN                                          [\w-]{35,38}(?![\w-])                          random
Yandex key              y0_ t1.                                       [\w.-]{50,}                                    random
Adobe secret            p8e-                                          [A-Za-z0-9]{32}(?!\w)                          random
ntfy token              tk_                                           [a-z0-9]{29}(?!\w)                             random
Nostr key               nsec1                                         [02-9ac-hj-np-z]{58}(?!\w)
Google calendar address  https://calendar.google.com/calendar/ical/   [\w%.@-]{1,120}/private-[0-9a-f]{32}
private key             LS0tLS1CRUdJTiBSU0EgUFJJVkFUR LS0tLS1CRUdJTiBFQyBQUklWQVRF LS0tLS1CRUdJTiBQUklWQVRF LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVE LS0tLS1CRUdJTiBFTkNSWVBURUQg  [A-Za-z0-9+/=]{40,}
age key                 AGE-SECRET-KEY- AGE-PLUGIN-                   (?:PQ-|[A-Z]{2,12}-)?1[0-9A-Z]{40,}
JSON web token          eyJ                                           [\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}
Bitcoin key             5H 5J 5K                                      [1-9A-HJ-NP-Za-km-z]{49}(?!\w)                 random
Bitcoin key             K L                                           [1-9A-HJ-NP-Za-km-z]{51}(?!\w)                 random
Bitcoin key             xprv yprv zprv tprv                           [1-9A-HJ-NP-Za-km-z]{90,112}(?!\w)
"""  # noqa: E501 -- a table: one form, one line
