"""Sentences of chats in English and Chinese, side by side: what states a memory, and what only looks like one."""

import pytest

from tests.memory.test_capture import taken

STATED = {
    "preference": """
        I don't eat pork | I don't drink coffee | I can't stand cilantro | I'd rather fly than drive | I hate mushrooms
        I always wear black to work | My favourite colour is green | I love hiking in the Alps | Never use emojis
        From now on answer in metric units | I'd rather not eat meat | I really dislike phone calls
        我不吃猪肉 | 我从来不喝酒 | 我讨厌香菜 | 我更喜欢坐火车 | 我平时不看电视 | 我最喜欢绿色 | 我已经戒烟了
        请你以后不要用表情符号
        Next time use metric. | Next time, ask me before deleting files. | In future, always sign mails with "Ana"
        I hate it when you apologise all the time. | I am not a fan of long emails. | I'm not keen on long calls
        I love it when people are on time | I can't stand it when meetings start late
        By default answer in metric units
        Next time please don't delete files | Use metric units by default | Going forward, dates should be ISO.
        I'm a big fan of Bach | I'm fond of old maps | By default, use tabs | 今后代码注释都写英文。
        今后都用英文写注释。
        下次先问我再删文件。 | 下次别删我的文件 | 往后别再用感叹号。 | 以后邮件都用英文写 | 默认使用公制单位
        回答默认用中文 | 请一直用公制 | 请用公制单位
        以後別用感嘆號了 | 我不喜歡香菜。 | 下次先問我再刪檔案。 | 今後程式註解都用英文 | 我討厭開會 | 我從來不喝酒
        默認使用公制單位
        下次开会前提醒我 | 下次開會前提醒我 | 以後請用英文回覆
        以后用公制单位 | 请以后用中文回答 | 今后都用敬语 | 请不要用感叹号 | 我一般只喝茶 | 我不坐飞机 | 回答时不要用表格
    """,
    "fact": """
        I moved to Lyon last year | I get up at six
        We moved to Porto in May | I go to the gym every Monday
        I run 5 km every morning
        我太太叫小芳 | 我们家有三只猫 | 我們家有三個小孩 | 我媽媽是護士
        I'm lactose intolerant. | I'm gluten-intolerant | I am coeliac | I go by "Kit". | we have two kids, Ben and Lea
        We have a dog | our anniversary is on 3 May | Our daughter is called Lea | I'm severely allergic to bees
        I'm allergic to peanuts and shellfish. | 我对海鲜过敏。 | 我乳糖不耐受 | 我女儿五岁。 | 我儿子今年12岁了
        我老家在四川成都。
        我已经不在腾讯工作了，现在在字节。 | 我对青霉素有点过敏 | 我的猫三岁
        我對花生過敏。 | 我對海鮮過敏。 | 我女兒五歲。 | 我住在台北市大安區。 | 我叫陳大文。 | 叫我阿明。 | 我老家在台南
        我兒子今年十二歲 | 我已經不在台積電工作了 | 我有兩個孩子 | 我在銀行工作 | 我每週一去健身房
        My sister lives in Oslo | I'm allergic to nuts | I own a bakery | I have two kids
        我去年搬到了成都 | 我每天六点起床 | 我们家上个月搬到了杭州
        我每周一去健身房
        我住在上海 | 我对花生过敏 | 我女儿叫小满 | 我有两个孩子
        我在银行工作 | 我周末都去跑步
        我早上一般都去跑步
    """,
    "decision": """
        Let's go with React | We decided to ship on Friday | We'll use Postgres for this | We agreed on option B
        We're switching to uv | We chose Rust | Our decision is to wait | We've settled on Berlin
        我们选了 React | 就用方案B吧 | 那就选第二个方案 | 我们决定周五发布 | 还是用 SQLite 吧 | 咱们定了周五出发
        我们最后选了蓝色 | 改用 Rust 吧
        团队同意延期 | 那我们就用公制 | 我决定用 PostgreSQL。 | 我已经决定辞职了 | 我决定去北京读书
        我決定用 PostgreSQL。 | 我們決定用 Rust | 那就選第二個方案 | 還是用 SQLite 吧 | I decided to use Postgres
    """,
    "episodic": """
        Yesterday I went to the dentist | The meeting moved to 3pm | My interview is on Tuesday at 10
        The standup was moved to 9:30 | Our flight is on Friday | tomorrow the plumber comes
        昨天我去看了牙医 | 上周末我们去爬了黄山 | 會議改到下午三點 | 会议改到下午三点 | 面试定在下周二上午
        截止日期推迟到周五 | 航班是明天早上八点 | 约会改到后天晚上
    """,
}
NOISE = """
    I prefer not to say | I'd rather not | I hate this | I hate it when you do that | I love this! | I like that idea
    I love you | I love it | He said: remember that I like pie | She said "I like cats"
    My boss told me I like pressure
    Translate: I like cats | Write in French: "I live in Paris" | Imagine I live on Mars | If I like it, we buy two
    Suppose my name is Bob | What if we decided to use Rust? | Do you remember my name? | Did you remember?
    Should I always use tabs? | Let's say I work at a bank | I'd rather not talk about it | I dislike that one
    "I prefer tea" is a sentence | Rewrite this: my name is Anna | Is the meeting on Friday? | I can't stand it
    How do you say I like tea in German | Pretend that I am a pirate | Anna says I like rain
    I would prefer not to. | I'd prefer not
    I hate it when that happens | I'm not a fan of it | I go by bus to work | I'm not fond of you
    Next time we meet I will bring the book | Next time it was closed | 请用筷子造句 | 请用这个词写一首诗 | 下次再说
    下次见
    This morning we saw a fox in the garden | 今天早上在花园里看到一只狐狸
    以后我们都会老 | 我决定不了 | 請用筷子造句 | 下次再說 | 我決定不了
    记住了吗? | 记住了吗 | 记住了 | 你记住了没有 | 你能记住多少 | 还记得我吗 | 我喜欢这个主意 | 我讨厌这样
    我喜欢你 | 我喜欢！
    他说：记住我喜欢派 | 她说我喜欢猫 | 老板说我讨厌加班 | 翻译：我喜欢猫 | 帮我翻译成英文：我住在上海
    如果我住在北京 | 假如我喜欢茶
    我喜欢什么 | 我住在哪里 | 你是不是记得我的名字 | 会议改到几点 | 会议改到周五了吗 | 我们选了哪个 | 我们决定了吗
    我不吃了 | 我不喝了
    我每天几点起床？ | 你觉得我喜欢茶吗 | 我的狗叫什么名字 | 就这样吧 | 以后再说 | 那个太贵了 | 想象我住在火星
"""


def told(table):
    return [part for line in table.split("\n") for one in line.split(" | ") if (part := one.strip())]


@pytest.mark.parametrize("kind", STATED)
def test_nearly_every_sentence_states_what_it_states_in_both_languages(kind):
    sentences = told(STATED[kind])
    kept = {text: [(row.item.kind, row.item.enabled) for row in taken(text).rows] for text in sentences}
    wrong = [text for text, rows in kept.items() if rows != [(kind, True)]]
    assert len(wrong) <= max(2, 0.1 * len(sentences)), wrong


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Save this: the wifi at the cabin is called PineNet.", "the wifi at the cabin is called PineNet."),
        ("note to self: buy batteries", "buy batteries"),
        ("Please write this down: the code of the gate is 4-2", "the code of the gate is 4-2"),
        ("Keep this for later: the bin is green", "the bin is green"),
        ("請記住：門禁密碼貼在冰箱上。", "門禁密碼貼在冰箱上。"),
        ("記得給我媽打電話。", "給我媽打電話。"),
        ("幫我記一下，車位號是 B12", "車位號是 B12"),
    ],
)
def test_a_wish_to_keep_something_is_kept_in_its_own_characters(text, kept):
    found = taken(text)
    assert [(row.item.text, row.item.source) for row in found.rows] == [(kept, "explicit_user")], found
    assert found.durable


def test_nearly_nothing_that_only_looks_like_a_memory_is_one():
    sentences = told(NOISE)
    wrong = [text for text in sentences if taken(text).rows]
    assert len(wrong) <= 0.1 * len(sentences), wrong
