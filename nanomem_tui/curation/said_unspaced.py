"""What a sentence in Chinese, Japanese or Thai says of whom: as `said_english`, for scripts without spaces.

Careful by intent: what is uncertain, past, planned or of a time says nothing here. Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nanomem_tui.curation.said import Said
from nanomem_tui.memory.simplified import simplified

CHINESE = re.compile(r"[㐀-鿿]")
JAPANESE = re.compile(r"[ぁ-ヿ]")
THAI = re.compile(r"[฀-๿]")

_OPEN_ZH = re.compile(
    r"可能|也许|大概|或许|如果|要是|假如|曾|以前|过去|原来|当时|小时候|去年|前年|昨|明天|明年|今天|今晚|[上下本这每]周|"
    r"[上下本这每]个?月|\d{4}年(?!出生)|[春夏秋冬]天|有时|偶尔|通常|周末|工作日|打算|计划|想去|将|之前|以后|期间|除了|但|"
    r"虽然|暂时|临时|还没|差不多|大约|左右|不仅|不但|不只|不得不|不一定|不太|不怎么|之一|另|也是|听说|吗|？|\?|时候|的时|岁时"
)
_WHO_ZH = r"(?P<who>我们?|[^\s，。不的在有是喜也都]{2,4}?)"
_FILL_ZH = r"(?:现在|目前|如今|已经|已|一直|其实|主要|平时|都)*"
_PATTERNS_ZH: tuple[tuple[str, str, str], ...] = (
    (rf"{_WHO_ZH}?{_FILL_ZH}(?:居住在|住在|定居在?|定居于|搬到了?|搬去了?)(?P<value>[^，,。了的、和里]{{2,12}})了?", "home", "place"),  # noqa: E501
    (rf"{_WHO_ZH}?{_FILL_ZH}(?:今年)?(?P<value>\d{{1,3}}) ?岁了?", "age", "number"),
    (rf"{_WHO_ZH}{_FILL_ZH}(?:名叫|叫做|叫)(?P<value>[^，,。不]{{1,12}})", "name", "name"),
    (rf"{_WHO_ZH}?{_FILL_ZH}在(?P<value>(?!家|公司|办公|户外|晚上|早)[^，,。]{{2,12}}?)(?:工作|上班|任职|就职)", "employer", "name"),  # noqa: E501
    (rf"{_WHO_ZH}?{_FILL_ZH}(?:就职于|任职于|供职于)(?P<value>[^，,。]{{2,12}})", "employer", "name"),
    (rf"{_WHO_ZH}?{_FILL_ZH}是?(?P<value>已婚|未婚|单身|离异|离婚|离婚了)的?", "marital status", "word"),
    (rf"{_WHO_ZH}?{_FILL_ZH}身高(?:是|为)?(?P<value>[\d.]+ ?(?:厘米|米|cm|m|公分))", "height", "number"),
    (rf"{_WHO_ZH}?{_FILL_ZH}体重(?:是|为)?(?P<value>[\d.]+ ?(?:公斤|千克|斤|kg))", "weight", "number"),
)  # fmt: skip
_SINGLE_ZH = (
    "名字|姓名|全名|生日|出生日期|年龄|时区|邮箱|电子邮箱|电话|电话号码|手机号|手机|手机号码|住址|地址|家庭住址|城市|国籍|母语|"
    "血型|身高|体重|职业|职位|雇主|老板|经理|上司|妻子|丈夫|母亲|父亲|妈妈|爸爸|工资|月薪|年薪|预算|截止日期|截止时间|版本|"
    "版本号|端口|端口号|主机名|域名|数据库|分支|货币|编辑器|主题|负责人|队长|组长|首都|价格|费用|上限|超时|超时时间|容量|长度|"
    "宽度|颜色|车牌|车牌号|操作系统|座位|房间|会议室|地点|家乡|老家|籍贯|学校|部门|密码|用户名|房租|目标|时间|日期|鞋码|尺码|"
    "时长|频率|语言"
)
_ATTRIBUTE_ZH = re.compile(
    rf"(?:(?P<who>我们?|[^\s，。是]{{2,8}}?)的)?{_FILL_ZH}(?P<what>(?:最喜欢|最爱|首选|默认|主要|偏好)的?[^\s，。是为]{{1,6}}|"
    rf"(?:[^\s，。是为的]{{0,6}})(?:{_SINGLE_ZH}))(?:{_FILL_ZH})(?:改为|改成|改到|变为|变成|定在|推迟到|提前到|是|为|叫|：|:|=)了?"
    r"(?P<value>[^，,。;；]{1,30})"
)
_MANY_ZH = re.compile(
    r"(?:哥哥|弟弟|姐姐|妹妹|兄弟|姐妹|儿子|女儿|孩子|朋友|同事|同学|邻居|猫|狗|宠物|客户|叔叔|阿姨|表|堂|室友|学生|车)"
)
_OF_USER_ZH = re.compile(
    r"(?:最喜欢|最爱|首选|偏好).*|(?:名字|姓名|生日|年龄|时区|邮箱|电话|手机号?|住址|城市|国籍|母语|血型|身高|体重|职业|家乡|老家|鞋码)"
)
_SAME_ZH = {
    "姓名": "name", "名字": "name", "全名": "name", "年龄": "age", "城市": "home", "所在城市": "home", "居住城市": "home",  # noqa: E501
    "电子邮箱": "邮箱", "电话号码": "电话", "手机号码": "手机", "手机号": "手机", "截止时间": "截止日期", "端口号": "端口",  # noqa: E501
    "版本号": "版本", "车牌号": "车牌", "老家": "家乡", "籍贯": "家乡", "出生日期": "birthday", "生日": "birthday",
    "雇主": "employer", "身高": "height", "体重": "weight",
}  # fmt: skip
_HAS_ZH = re.compile(
    rf"{_WHO_ZH}?{_FILL_ZH}(?:家里?)?(?:养了?|有)(?P<value>\d+)(?P<unit>只|个|条|辆|台|名|位|套|头|匹)(?P<what>[^，,。和、的]{{1,6}})"
)
_HAS_NO_ZH = re.compile(rf"{_WHO_ZH}?{_FILL_ZH}没有?(?P<what>孩子|兄弟姐妹|宠物|猫|狗|车|房子)")
_NUMBERS_ZH = str.maketrans({"一": "1", "二": "2", "两": "2", "三": "3", "四": "4", "五": "5", "六": "6", "七": "7", "八": "8",  # noqa: E501
                             "九": "9"})  # fmt: skip
_OVER_ZH = re.compile(
    rf"{_WHO_ZH}?(?:更|比较)?(?:喜欢|偏好|偏爱)(?:用|喝|吃|看|坐)?(?P<value>[^，,。而胜多]{{1,10}})(?:而不是|而非|胜过|多过|超过|不是)"
    r"(?:用|喝|吃|看|坐)?(?P<less>[^，,。]{1,10})"
)
_MORE_ZH = re.compile(
    rf"{_WHO_ZH}?(?:比起|相比|跟|和)(?P<less>[^，,。]{{1,10}}?)(?:相比)?[，,]?(?:我)?(?:更|比较)(?:喜欢|偏好|偏爱)(?P<value>[^，,。]{{1,10}})"
)
_REPLY_ZH = re.compile(
    r"(?:我)?(?:希望|喜欢|偏好|要求|想要)?(?:你)?(?:请|始终|总是|一律|都)?用(?P<value>中文|英文|英语|日语|日文|汉语|德语|法语|韩语|泰语)"
    r"(?:来)?(?:回答|回复|交流|沟通|答复)(?:我)?"
)
_MODE_ZH = re.compile(
    rf"{_WHO_ZH}?{_FILL_ZH}(?:更?喜欢用?|偏好|偏爱|使用|习惯用?|用)(?P<value>深色|浅色|暗色|亮色|暗黑|明亮)(?P<what>模式|主题|界面)"
)
_MODES_ZH = {"暗色": "深色", "暗黑": "深色", "亮色": "浅色", "明亮": "浅色"}
_VERBS_ZH = (
    "喜欢|喜爱|热爱|爱|吃|喝|抽|用|使用|会|能|养|想|要|信任|支持|需要|允许|接受|开|玩|看|听|穿|戴|写|说|读|学|有|参加|打|跑|骑|"
    "对"
)
_SO_ZH = re.compile(
    rf"(?P<who>我们?|[^\s，。]{{2,8}}?)?{_FILL_ZH}(?:很|非常|特别|十分|最)?(?P<no>从不|从来不|不再|再也不|绝不|不|没)?"
    rf"(?:很|非常|特别|十分)?(?P<verb>讨厌|厌恶|{_VERBS_ZH})(?P<rest>[^，,。]{{0,20}}?)了?"
)
_ALLERGY_ZH = re.compile(rf"{_WHO_ZH}?{_FILL_ZH}对(?P<what>[^，,。不]{{1,8}}?)(?P<no>不|没有?)?过敏")
_ALLERGIC_NOUN_ZH = re.compile(rf"{_WHO_ZH}?{_FILL_ZH}(?P<no>没)?有?(?P<what>花生|海鲜|青霉素|牛奶|坚果|鸡蛋|花粉)过敏")
_QUIT_ZH = re.compile(rf"{_WHO_ZH}?{_FILL_ZH}戒(?:掉)?(?:了)?(?P<what>烟|酒|咖啡|糖)了?")
_QUIT_VERB_ZH = {"烟": "抽烟", "酒": "喝酒", "咖啡": "喝咖啡", "糖": "吃糖"}


def read(sentence: str) -> Iterator[Said]:
    """What one sentence says."""
    if THAI.search(sentence):
        yield from _thai(sentence)
    elif JAPANESE.search(sentence):
        yield from _japanese(sentence)
    else:
        yield from _chinese(sentence)


def _chinese(sentence: str) -> Iterator[Said]:
    plain = (
        simplified(sentence)
        .replace("用戶", "用户")
        .replace("该用户", "我")
        .replace("用户", "我")
        .replace("使用者", "我")
        .strip(" 。.！!，,；;-*•")
    )
    plain = re.sub(r"(?:请)?记住[：:，,]?|^(?:更正|注意)[：:，,]", "", plain)
    plain = re.sub(r"(?<=[㐀-鿿])\s+|\s+(?=[㐀-鿿])|(?:，|,)?自?从?[^，,]{2,8}(?:以来|起)，?", "", plain)
    plain = re.sub(r"[一二两三四五六七八九](?=[只个条辆台名位套头匹岁])", lambda m: m[0].translate(_NUMBERS_ZH), plain)
    if not plain or len(plain) > 60 or _OPEN_ZH.search(plain) or re.match(r"[他她它你这那]", plain):
        return
    if found := _REPLY_ZH.fullmatch(plain):
        value = found["value"].replace("汉语", "中文").replace("英语", "英文").replace("日语", "日文")
        yield Said("user|reply language", value, "word")
        return
    for pattern, name, form in _PATTERNS_ZH:
        if (found := re.fullmatch(pattern, plain)) is not None:
            value = found["value"].removesuffix("了").replace("离婚", "离异")
            if not re.search(r"[和、或]", value):
                yield Said(f"{_of(found)}|{name}", value, form)
            return
    yield from _told_zh(plain)
    yield from _so_zh(plain)


def _told_zh(plain: str) -> Iterator[Said]:
    if (found := _ATTRIBUTE_ZH.fullmatch(plain)) is not None:
        what, who = (
            found["what"].replace("最爱", "最喜欢").replace("欢的", "欢").replace("选的", "选"),
            found["who"] or "",
        )
        if _MANY_ZH.search(who + what[:-1]) and not what.startswith(("最喜欢", "首选")):
            return
        own = "user" if who in ("我", "我们") or (not who and _OF_USER_ZH.fullmatch(what)) else who
        if not own and len(what) < 4:
            return
        name, value = _SAME_ZH.get(what, what), found["value"].strip()
        if not re.match(r"不|没|未知|待定|未定|保密|多少|什么|很|非常", value) and not re.search(r"[和、或及]", value):
            form = (
                "date" if name in ("birthday", "截止日期", "日期") else "place" if name in ("home", "家乡") else "name"
            )
            yield Said(f"{own}|{name}", value, form)
    elif (found := _HAS_ZH.fullmatch(plain)) is not None:
        yield Said(f"{_of(found)}|has {found['what']}", found["value"], "number")
    elif (found := _HAS_NO_ZH.fullmatch(plain)) is not None:
        yield Said(f"{_of(found)}|has {found['what']}", "0", "number")
    elif (found := _MODE_ZH.fullmatch(plain)) is not None:
        yield Said(f"{_of(found)}|{found['what']}", _MODES_ZH.get(found["value"], found["value"]), "word")
    elif (found := _OVER_ZH.fullmatch(plain) or _MORE_ZH.fullmatch(plain)) is not None:
        first, second = sorted((found["value"], found["less"]))
        yield Said(f"{_of(found)}|{first} or {second}", found["value"], "word")


def _so_zh(plain: str) -> Iterator[Said]:
    if (found := _ALLERGY_ZH.fullmatch(plain) or _ALLERGIC_NOUN_ZH.fullmatch(plain)) is not None:
        yield Said(f"{_of(found)}|± 过敏 {found['what']}", "no" if found["no"] else "yes", "so")
    elif (found := _QUIT_ZH.fullmatch(plain)) is not None:
        yield Said(f"{_of(found)}|± {_QUIT_VERB_ZH[found['what']]}", "no", "so")
    elif (found := _SO_ZH.fullmatch(plain)) is not None:
        verb, no = found["verb"], bool(found["no"])
        if verb in ("讨厌", "厌恶"):
            verb, no = "喜欢", not no
        verb = {"喜爱": "喜欢", "热爱": "喜欢", "爱": "喜欢", "使用": "用"}.get(verb, verb)
        rest = found["rest"]
        if (not rest and verb == "对") or re.search(r"不|没", rest) or (verb == "有" and re.match(r"\d", rest)):
            return
        rest = re.sub(r"^(?:吃|喝|用|看)(?=.)", "", rest) if verb == "喜欢" else rest
        yield Said(f"{_of(found)}|± {verb}{rest}", "no" if no else "yes", "so")


def _of(found: re.Match[str]) -> str:
    who = found["who"] or ""
    return "user" if who in ("", "我", "我们") else who


_OPEN_JA = re.compile(
    r"かも|たぶん|おそらく|もし|なら|以前|昔|昨|明日|来年|来週|去年|先週|時々|たまに|週末|ときどき|予定|つもり|だった|でした|"
    r"いた$|いました|した$|しました|だけ|しか|あまり|たい|けど|が、|でも|[？?]|か$|\d{4}年(?!生)|夏|冬|子供の(?:頃|とき)|とき|頃"
)
_WHO_JA = r"(?:(?P<who>私|僕|俺|ユーザー|[^\sはがの、。]{2,6}(?:さん)?)は、?)?(?:今|現在|もう)?(?:は)?"
_PATTERNS_JA: tuple[tuple[str, str, str], ...] = (
    (rf"{_WHO_JA}(?P<value>[^\sはがの、。]{{2,10}})(?:に住んで(?:いる|います|る|ます)|在住(?:です|だ)?|に引っ越した)", "home", "place"),  # noqa: E501
    (rf"{_WHO_JA}(?P<value>\d{{1,3}}) ?歳(?:です|だ)?", "age", "number"),
    (rf"{_WHO_JA}(?P<value>[^\sはがの、。]{{2,12}})で働いて(?:いる|います)", "employer", "name"),
    (rf"{_WHO_JA}(?P<value>独身|既婚)(?:です|だ)?", "marital status", "word"),
)  # fmt: skip
_ATTRIBUTE_JA = re.compile(
    r"(?:(?P<who>私|僕|ユーザー|[^\sはが、。]{2,8}(?:さん)?)の)?(?P<what>一番?好きな[^\sはが、。]{1,8}|好きな(?:色|数字|季節)|名前|誕生日|職業|"
    r"年齢|出身地?|国籍|母国語|血液型|身長|体重|メールアドレス|電話番号|住所|締め切り|締切|予算|担当者|バージョン|ポート番号|上司|会社|"
    r"タイムゾーン)は(?P<value>[^\sは、。]{1,20}?)(?:です|だ|である|といいます)?"
)
_LIKES_JA = re.compile(
    rf"{_WHO_JA}(?P<what>[^\sは、。]{{1,12}}?)(?:が|は)(?:大|とても)?(?P<how>好きではない|好きじゃない|好きではありません|好きではなくなった|"
    r"好き|嫌い|苦手)(?:です|だ)?"
)
_ALLERGY_JA = re.compile(
    rf"{_WHO_JA}(?P<what>[^\sはが、。]{{1,10}}?)アレルギー(?P<how>がある|があります|です|だ|がない|がありません|はない|ではない|はありません|ではありません)"
)
_SO_JA = re.compile(
    rf"{_WHO_JA}(?P<what>[^\sは、。]{{1,14}}?)(?:を|は|が)(?P<verb>使[いわう]|食べ|飲[みまむ]|吸[いわう]|し|話[しさす]|でき|運転[しす])"
    r"(?P<how>る|ます|ない|ません|ていない|ていません|ている|ています|)"
)


def _japanese(sentence: str) -> Iterator[Said]:
    plain = (
        re.sub(r"\s+", "", sentence).strip("。.！!、-*•").replace("ユーザーは", "私は").replace("ユーザーの", "私の")
    )
    plain = plain.replace("僕", "私").replace("俺", "私")
    if not plain or len(plain) > 60 or _OPEN_JA.search(plain) or re.match(r"[彼これそあ]", plain):
        return
    for pattern, name, form in _PATTERNS_JA:
        if (found := re.fullmatch(pattern, plain)) is not None:
            yield Said(f"{_of_ja(found)}|{name}", found["value"], form)
            return
    if (found := _ATTRIBUTE_JA.fullmatch(plain)) is not None:
        if found["who"] and re.search(r"兄|弟|姉|妹|息子|娘|子供|友|猫|犬|同僚", found["who"]):
            return
        name = {"名前": "name", "誕生日": "birthday", "年齢": "age", "締切": "締め切り"}.get(
            found["what"], found["what"]
        )
        who = found["who"] or ("" if name in ("締め切り", "予算", "担当者", "バージョン", "ポート番号") else "私")
        if who and not re.search(r"[とやか]|、", found["value"][1:-1] if len(found["value"]) > 6 else ""):
            yield Said(
                f"{'user' if who == '私' else who}|{name}", found["value"], "date" if name == "birthday" else "name"
            )
    elif (found := _ALLERGY_JA.fullmatch(plain)) is not None:
        no = "な" in found["how"] or "せん" in found["how"]
        yield Said(f"{_of_ja(found)}|± アレルギー {found['what']}", "no" if no else "yes", "so")
    elif (found := _LIKES_JA.fullmatch(plain)) is not None:
        yield Said(f"{_of_ja(found)}|± 好き {found['what']}", "yes" if found["how"] == "好き" else "no", "so")
    elif (found := _SO_JA.fullmatch(plain)) is not None:
        no = "な" in found["how"] or "せん" in found["how"]
        yield Said(f"{_of_ja(found)}|± {found['what']} {found['verb'][0]}", "no" if no else "yes", "so")


def _of_ja(found: re.Match[str]) -> str:
    who = found["who"] or ""
    return "user" if who in ("", "私") else who.removesuffix("さん")


_OPEN_TH = re.compile(
    r"อาจ|น่าจะ|บางที|ถ้า|หาก|เคย(?!ชิน)|เมื่อก่อน|เมื่อวาน|พรุ่งนี้|ปีที่แล้ว|ปีหน้า|ตอนเด็ก|จะ|อยาก|บางครั้ง|วันหยุด|แต่|ยกเว้น|เฉพาะ|"
    r"ไหม|หรือเปล่า|[?？]|ในปี|เดือนหน้า|สัปดาห์หน้า|ไม่ค่อย|ชั่วคราว|ตอน"
)
_WHO_TH = r"(?P<who>ผู้ใช้|ฉัน|ผม|ดิฉัน|คุณ[ก-๙]{2,8} ?|)(?:ตอนนี้|ปัจจุบัน)?(?:ได้)?"
_PATTERNS_TH: tuple[tuple[str, str, str], ...] = (
    (rf"{_WHO_TH}(?:อาศัยอยู่|อยู่|พักอยู่|ย้ายไปอยู่|ย้ายมาอยู่)(?:ที่|ใน|จังหวัด|เมือง)*(?P<value>[ก-๙]{{3,24}}?)(?:แล้ว|ครับ|ค่ะ)?", "home", "place"),  # noqa: E501
    (rf"{_WHO_TH}อายุ ?(?P<value>\d{{1,3}}) ?ปี(?:แล้ว|ครับ|ค่ะ)?", "age", "number"),
    (rf"{_WHO_TH}ชื่อ(?:ว่า)?(?P<value>[ก-๙]{{2,20}}?)(?:ครับ|ค่ะ)?", "name", "name"),
    (rf"{_WHO_TH}ทำงาน(?:ที่|กับ)(?P<value>(?!บ้าน)[ก-๙A-Za-z]{{3,24}})", "employer", "name"),
    (rf"{_WHO_TH}(?P<value>โสด|แต่งงานแล้ว|หย่าแล้ว|หย่าร้าง)", "marital status", "word"),
)  # fmt: skip
_ATTRIBUTE_TH = re.compile(
    r"(?P<what>วันเกิด|สีที่ชอบ|สีโปรด|อาหารโปรด|อีเมล|เบอร์โทร|เบอร์โทรศัพท์|ที่อยู่|กรุ๊ปเลือด|ส่วนสูง|น้ำหนัก|อาชีพ|ภาษาแม่|สัญชาติ|งบประมาณ)"
    r"(?:ของ)?(?P<who>ผู้ใช้|ฉัน|ผม|คุณ[ก-๙]{2,8}|)(?:คือ|เป็น|:| )+(?P<value>[^ ,]{1,24}(?: [ก-๙.]{2,12})?)"
)
_SO_TH = re.compile(
    rf"{_WHO_TH}(?P<no>ไม่|เลิก)?(?P<verb>ชอบ|เกลียด|แพ้|ดื่ม|กิน|สูบ|ใช้|ทาน|ขับ|พูด|มี|เล่น)(?P<what>[^ ,]{{1,24}}?)(?:แล้ว|อีกต่อไป|เลย|มาก|ครับ|ค่ะ)*"  # noqa: E501
)
_HAS_TH = re.compile(rf"{_WHO_TH}(?:มี|เลี้ยง)(?P<what>แมว|หมา|สุนัข|ลูก|รถ|พี่น้อง)(?:อยู่)? ?(?P<value>\d+) ?(?:ตัว|คน|คัน)")


def _thai(sentence: str) -> Iterator[Said]:
    plain = re.sub(r"\s+", " ", sentence).strip(" .!-*•")
    if not plain or len(plain) > 80 or _OPEN_TH.search(plain.replace("ตอนนี้", "")) or re.match(r"เขา|เธอ|มัน|พวก", plain):
        return
    if (found := _HAS_TH.fullmatch(plain)) is not None:
        yield Said(f"{_of_th(found)}|has {found['what']}", found["value"], "number")
        return
    for pattern, name, form in _PATTERNS_TH:
        if (found := re.fullmatch(pattern, plain)) is not None:
            yield Said(f"{_of_th(found)}|{name}", found["value"], form)
            return
    if (found := _ATTRIBUTE_TH.fullmatch(plain)) is not None:
        name = {"วันเกิด": "birthday", "สีโปรด": "สีที่ชอบ", "เบอร์โทรศัพท์": "เบอร์โทร"}.get(found["what"], found["what"])
        yield Said(f"{_of_th(found)}|{name}", found["value"], "date" if name == "birthday" else "name")
    elif (found := _SO_TH.fullmatch(plain)) is not None:
        verb, no = found["verb"], bool(found["no"])
        if verb == "เกลียด":
            verb, no = "ชอบ", not no
        what = re.sub(r"^(?:กิน|ดื่ม|ทาน)(?=..)", "", found["what"]) if verb == "ชอบ" else found["what"]
        yield Said(f"{_of_th(found)}|± {verb}{what}", "no" if no else "yes", "so")


def _of_th(found: re.Match[str]) -> str:
    who = found["who"].strip()
    return "user" if who in ("", "ผู้ใช้", "ฉัน", "ผม", "ดิฉัน") else who
