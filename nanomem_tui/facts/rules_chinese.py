"""The facts that a sentence of Chinese says, in fields; traditional characters too.

Owns the words and the patterns. A rule fits a whole clause that begins with the one who speaks (我, 我们, 我家). Pure.
"""

from __future__ import annotations

import re

from nanomem_tui.facts.grammar import PERSONAL, PREFERENCES, TECHNOLOGY, WORK, Grammar, Rule, sorter
from nanomem_tui.language.simplified import simplified

_NOW = r"(?:现在|目前|平时|一直|其实|也|还|就|已经|都)*"
_KIN = (
    r"(?:女儿|儿子|大女儿|小女儿|大儿子|小儿子|孩子|宝宝|太太|爱人|妻子|老婆|媳妇|丈夫|老公|女朋友|男朋友|女友|男友|"
    r"妈妈|爸爸|"
    r"母亲|父亲|姐姐|妹妹|哥哥|弟弟|爷爷|奶奶|外公|外婆|姥姥|姥爷|孙子|孙女|侄子|侄女|外甥)"
)
_PET = r"(?:小?狗狗?|小?猫咪?|兔子|仓鼠|鹦鹉|乌龟|金鱼|宠物|鸟)"
_WHO = rf"(?:{_KIN}|{_PET}|老板|经理|上司|医生|牙医|同事|室友|老师|房东)"
_ROLE = (
    r"(?:工程师|程序员|开发者?|设计师|架构师|产品经理|项目经理|经理|总监|医生|护士|老师|教师|教授|讲师|律师|会计|"
    r"记者|编辑|翻译|"
    r"作家|摄影师|音乐家|歌手|演员|画家|艺术家|厨师|司机|飞行员|警察|军人|消防员|公务员|销售|店员|店主|老板|创始人|"
    r"顾问|分析师|"
    r"研究员|科学家|博士生|研究生|大学生|学生|高中生|实习生|自由职业者|全职妈妈|农民|工人|技术员|运维|测试|药剂师|"
    r"牙医|兽医|导游|"
    r"教练|心理咨询师|咨询师|架构|博主|主播)"
)
_SHORT = r"[^\s，。,;；！？!?、]{1,16}"
_VALUE = r"[^，。；！？]{1,80}?"
_END = r"(?:[哦喔哈啦呀啊呢了的]|就好|就行|就可以了?|吧)?[\s。！!~～]*"
_NOT_NAME = re.compile(r"[了过着]|外卖|外賣|什么|谁|他|她|它|你|您|车|人|醒|停|做|苦|不|来|去|大家|滴|我")
_NO_VALUE = re.compile(
    r"(?:不|没|很|太|非常|好|真|最近|什么|谁|哪|怎|多少|几|为什么|这|那|你|您|他|她|它|坏|丢|病|死|忙|累|困|饿|正在|"
    r"想|要|会|能|"
    r"可以|应该|一个(?:问题|笑话|谜)|对的|错的|假的|真的|因为|说|觉得)"
)
_NO_KEY = re.compile(
    r".*(?:问题|意思|想法|看法|观点|建议|感觉|错|天|心情|运气|头|眼睛|肚子|(?<!电)话|剑|盾|角色|魔法|幸运.*|代码|报错|错误|输出|输入|结果|请求|"
    r"任务|要求|目的|"
    r"理解|态度|担心|希望|梦想|秘密|.*[不没非])"
)
_ATTRIBUTE = re.compile(
    rf"(?:(?:{_WHO}|公司|项目|团队|家里?|数据库|服务器)的?)?(?:名字|全名|姓名|昵称|网名|英文名|小名|外号|生日|"
    rf"出生日期|年龄|岁数|"
    r"身高|体重|血型|星座|属相|生肖|鞋码|衣服尺码|国籍|民族|籍贯|信仰|母语|时区|家乡|老家|故乡|城市|地址|住址|"
    r"家庭地址|邮编|电话|"
    r"手机号?码?|座机|邮箱|电子邮箱|微信号?|网站|博客|职业|工作|职位|岗位|部门|公司|单位|行业|专业|学校|大学|学历|"
    r"办公室|工位|"
    r"工作时间|上班时间|作息时间?|车|车牌号?|乐器|爱好|球队|编辑器|浏览器|操作系统|系统|电脑|笔记本|手机|手机型号|"
    r"键盘|显示器|"
    r"打印机|路由器|服务器|无线网络?|网络|wi-?fi|WiFi名?|域名|主机|端口|数据库|技术栈|框架|编程语言|语言|仓库|"
    r"代码仓库|分支|主分支|"
    r"云服务商?|项目|项目名称?|代号|产品|预算|截止日期|截止时间|上线时间|发布日期|纪念日|结婚纪念日|医生|牙医|房东|"
    r"银行|航班号?|"
    r"座位|房间号?|站会|例会|周会|版本|型号|货币|单位|忌口|饮食习惯|过敏原)|"
    rf"{_WHO}|最喜欢的.{{1,8}}|最爱的.{{1,8}}|默认.{{1,6}}|首选.{{1,6}}",
    re.IGNORECASE,
)
_DWELLING = re.compile(
    r"(?:朋友|同学|同事|亲戚|爸妈|父母|别人|人家|女友|男友|姐|妹|哥|弟|奶奶|爷爷|外婆|外公|老家|家)(?:的)?[家里]$|"
    r"(?:公寓|宿舍|酒店|宾馆|旅馆|民宿|房子?|屋|别墅|楼[上下里]?|校内|学校|公司|单位|市区|郊区|乡下|农村|城里|附近|"
    r"隔壁|楼)里?$|^(?:一|两|几|这|那|家里|外面|别处|国外|海边|山[上里])"
)
"""A kind of dwelling, or somebody's, where none is named: no place."""
_TELLING = re.compile(r"\d|[A-Za-z@/#「『“《]|[红橙黄绿蓝紫粉黑白灰棕]色")


def _is_attribute(key: str, value: str) -> bool:
    key, value = simplified(key), simplified(value)
    if _NO_KEY.fullmatch(key) or _NO_VALUE.match(value) or len(key) > 12 or len(value) > 60:
        return False
    return bool(_ATTRIBUTE.fullmatch(key)) or (len(key) <= 8 and bool(_TELLING.search(value)))


def _is_name(_key: str, value: str) -> bool:
    return _NOT_NAME.search(simplified(value)) is None and len(value) <= 12


def _is_place(_key: str, value: str) -> bool:
    return _NO_VALUE.match(simplified(value)) is None and 2 <= len(value) <= 24


def _is_home(key: str, value: str) -> bool:
    return _is_place(key, value) and _DWELLING.search(simplified(value)) is None


def _is_favourite(key: str, value: str) -> bool:
    return _NO_VALUE.match(simplified(value)) is None and key[-1] not in "不没沒非"


def _is_thing(key: str, _value: str) -> bool:
    return (
        re.match(r"(?:的|你|您|这|那|它|他|她|什么|谁|怎|了|过|不|我)", simplified(key)) is None and 1 <= len(key) <= 14
    )


_SORTS: tuple[tuple[str, str, str], ...] = (
    (PERSONAL, "Family", rf"{_KIN}|纪念日"),
    (PERSONAL, "Pets", _PET),
    (PREFERENCES, "Preferences", r"最喜欢|最爱|默认|首选|货币|爱好"),
    (PERSONAL, "Identity", r"名|生日|出生|年龄|岁|身高|体重|星座|属相|生肖|国籍|民族|籍贯|信仰|母语|时区|外号"),
    (PERSONAL, "Contacts", r"电话|手机号|座机|邮箱|微信|网站|博客"),
    (PERSONAL, "Home", r"家乡|老家|故乡|城市|地址|住址|邮编|房东"),
    (PERSONAL, "Health", r"血型|鞋码|尺码|医生|牙医|忌口|饮食|过敏"),
    (WORK, "Schedule", r"时间|日期|站会|例会|周会|航班|座位|房间|作息"),
    (TECHNOLOGY, "Infrastructure", r"wi-?fi|无线|网络|数据库|服务器|域名|主机|端口|路由|云"),
    (TECHNOLOGY, "Tools", r"编辑器|浏览器|系统|电脑|笔记本|手机|键盘|显示器|打印机|技术栈|框架|语言|版本|型号"),
    (WORK, "Projects", r"项目|仓库|分支|代号|产品|预算"),
    (WORK, "Work", r"职业|工作|职位|岗位|部门|公司|单位|行业|专业|学校|大学|学历|办公室|工位|老板|经理|上司|同事"),
)  # fmt: skip
_sort = sorter(_SORTS, simplified)

RULES: tuple[Rule, ...] = (
    Rule(PERSONAL, "Identity", rf"(?:我|本人){_NOW}(?:的(?:名字|全名|大名))?(?:叫做?|是叫)(?P<v>{_SHORT}?)"
         rf"{_END}", "名字",
         check=_is_name),
    Rule(PERSONAL, "Identity", rf"我的?(?:名字|全名|姓名)(?:叫做?|是|为)(?P<v>{_SHORT}?)"
         rf"{_END}", "名字", check=_is_name),
    Rule(PERSONAL, "Identity", rf"我姓(?P<v>[^\s，。了名什]{{1,2}}){_END}", "姓"),
    Rule(PERSONAL, "Identity", rf"(?:请|你|您|以后|大家|可以|都|就)*(?:叫|称呼|喊)我(?:为|做)?(?P<v>{_SHORT}?)"
         rf"{_END}", "称呼",
         check=_is_name),
    Rule(PERSONAL, "Identity", rf"我(?:今年|已经|现在)*(?P<v>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})"
         rf"岁{_END}", "年龄", "{v}岁"),
    Rule(PERSONAL, "Home", rf"(?:我们家|我们|我家|我){_NOW}(?:住在?|居住在|定居在|家在|在)(?!哪)(?P<v>{_VALUE})(?:住|"
         rf"居住|生活){_END}",
         "住在", check=_is_home),
    Rule(PERSONAL, "Home", rf"(?:我们家|我们|我家|我){_NOW}(?:住在?|居住在|定居在|家住|家在)(?P<v>{_VALUE})"
         rf"{_END}", "住在", check=_is_home),
    Rule(PERSONAL, "Home", rf"(?:我们家|我们|我家|我)(?:已经|刚|刚刚|最近|上个?月|去年|今年)*搬(?:家)?(?:到|去|来|进)"
         rf"了?(?P<v>{_VALUE}){_END}",
         "住在", check=_is_home),
    Rule(PERSONAL, "Identity", rf"我(?:是)?(?:来自|出生于|出生在)(?P<v>{_VALUE}){_END}", "来自", check=_is_place),
    Rule(PERSONAL, "Identity", rf"我是(?P<v>[^，。的]{{2,8}})人{_END}", "来自",
         check=lambda _, value: re.match(r"(?:个|一个|什么|哪|男|女|好|坏|负责|当事|过来|本地|成年|普通|新|"
         r"老)", value) is None),
    Rule(WORK, "Work", rf"我{_NOW}在(?P<v>{_VALUE})(?:工作|上班|任职|就职|做事){_END}", "工作单位", check=_is_place),
    Rule(WORK, "Work", rf"我{_NOW}(?:就职于|任职于|供职于)(?P<v>{_VALUE}){_END}", "工作单位", check=_is_place),
    Rule(WORK, "Work", rf"我{_NOW}在(?P<v>{_VALUE})(?:读书|上学|上大学|念书|读研|读博){_END}", "学校", check=_is_place),
    Rule(WORK, "Work", rf"我{_NOW}(?:是|做|当)(?:一名|一个|一位|个|名)?(?P<v>[^，。不]{{0,10}}?{_ROLE}){_END}", "职业",
         check=lambda _, value: _NO_VALUE.match(value) is None),
    Rule(PERSONAL, "Allergies", rf"(?:我|本人){_NOW}对(?P<k>{_VALUE})(?:都)?(?:严重)"
         rf"?过敏{_END}", value="过敏", many="k", check=_is_thing),
    Rule(PERSONAL, "Allergies", rf"我{_NOW}(?:有)?(?P<k>[^，。对有]{{1,6}})过敏"
         rf"{_END}", value="过敏", many="k", check=_is_thing),
    Rule(PERSONAL, "Allergies", rf"我{_NOW}(?P<k>乳糖|麸质|果糖){_NOW}不耐(?:受|症)?{_END}", value="不耐受"),
    Rule(PERSONAL, "Health", rf"我{_NOW}(?:是|吃)(?:个|一个)?(?P<v>素食者?|纯素食?|纯素主义者|素食主义者|素|清真)"
         rf"{_END}", "饮食"),
    Rule(PERSONAL, "Family", rf"我{_NOW}(?P<v>结婚|离婚|单身|未婚|已婚|订婚){_END}", "婚姻状况"),
    Rule(PERSONAL, "", rf"(?:我们家|我们|我家|我){_NOW}(?:有|养了?)(?P<v>[一二两三四五六\d])(?:个|只|条|位|头)"
         rf"(?P<k>{_KIN}|{_PET}){_END}",
         value="{v}", sort=_sort),
    Rule(PERSONAL, "Family", rf"(?:我们|我){_NOW}(?:还|都)?没有?(?P<k>孩子|兄弟姐妹|子女){_END}", value="没有"),
    Rule(PERSONAL, "", rf"(?:我们家|我们|我家|我){_NOW}(?:有|养了?)一?[个只条位]叫(?P<v>{_SHORT}?)的"
         rf"(?P<k>{_PET}|{_KIN}){_END}", "{k}的名字", sort=_sort, check=_is_name),
    Rule(PERSONAL, "", rf"(?:我们家|我们|我家|我){_NOW}(?:有|养了?)?(?:一?[个只条位])?(?P<k>{_WHO})(?:的名字)"
         rf"?[，,]?(?:名字)?(?:是叫|叫做?|名叫)"
         rf"(?P<v>{_SHORT}?){_END}", "{k}的名字", sort=_sort, check=_is_name),
    Rule(PERSONAL, "", rf"我(?:的|家|家的|们家|们家的)(?P<k>{_WHO})(?:的名字)?(?:叫做?|名叫|的名字是)(?P<v>{_SHORT}?)"
         rf"{_END}", "{k}的名字",
         sort=_sort, check=_is_name),
    Rule(PERSONAL, "", rf"我(?:的|家|家的|们家)?(?P<k>{_WHO})(?:今年|已经|现在)*(?P<v>\d{{1,3}}|"
         rf"[一二三四五六七八九十]{{1,3}})"
         rf"(?P<u>岁|个月)(?:大)?{_END}", "{k}的年龄", "{v}{u}", sort=_sort),
    Rule(PERSONAL, "Languages", rf"我{_NOW}(?:会说|会讲|说|能说|讲)(?P<k>[^，。]{{0,24}}?[文语话])"
         rf"{_END}", value="会说", many="k",
         check=_is_thing),
    Rule(PREFERENCES, "Preferences", rf"我{_NOW}最(?:喜欢|爱|喜爱)的(?P<k>[^，。是]{{1,8}})(?:是|：|:)(?P<v>{_VALUE})"
         rf"{_END}",
         "最喜欢的{k}", check=_is_favourite),
    Rule(PREFERENCES, "Preferences", rf"我(?:也|最|很|非常|特别|真的|更|比较|超|挺|还是)*(?:喜欢|爱|喜爱|偏爱)"
         rf"(?P<w>吃|喝|用|看|听|玩|去|坐|穿)?"
         rf"(?P<k>{_VALUE}){_END}", value="喜欢{w}", many="k", check=_is_thing),
    Rule(PREFERENCES, "Preferences", rf"我(?:也|最|很|非常|特别|真的)*(?:讨厌|不喜欢|不爱|受不了|不太喜欢)(?P<w>吃|"
         rf"喝|用|看|听|玩|去|坐|穿)?"
         rf"(?P<k>{_VALUE}){_END}", value="不喜欢{w}", many="k", check=_is_thing),
    Rule(PERSONAL, "Health", rf"我{_NOW}(?:从来|从)?(?:都)?不(?P<w>吃|喝|抽)(?P<k>[^，。了饱下]{{1,10}})"
         rf"{_END}", value="不{w}", many="k",
         check=_is_thing),
    Rule(TECHNOLOGY, "Tools", rf"(?:我们|咱们|团队|我)(?:已经|最终|最后|就|都|现在|以后|统一|决定|一直|习惯|平时)"
         rf"*(?:使用|采用|"
         rf"改用|选用|用)(?!的)"
         rf"(?P<v>{_VALUE})(?:做|作为|当|当作|来做|存|写|跑|管理)(?P<k>{_VALUE}){_END}", check=_is_thing),
    Rule(TECHNOLOGY, "Tools", rf"(?:我们|咱们|团队|我)(?:已经|最终|最后|就|都|现在|以后|统一|决定|一直|习惯|平时)"
         rf"*(?:使用|采用|"
         rf"改用|选用|决定用|用的是|用)(?!的)"
         rf"(?P<k>[^，。]*?[A-Za-z][^，。]{{0,20}}?){_END}", value="在用", many="k", check=_is_thing),
    Rule("", "", rf"(?:我们家|我们|咱们|我家|我)(?:的|家的|这边的)?(?P<k>[^\s，。是叫在：:=]{{1,12}}?)(?:现在)?(?:就)"
         rf"?(?:是在|是|叫做?|为|：|:|=)"
         rf"(?P<v>{_VALUE}){_END}", check=_is_attribute, sort=_sort),
    Rule("", "", rf"(?:我们家|我们|咱们|我家|我)(?:的|家的)(?P<k>[^\s，。是叫在：:]{{1,12}}?)在(?P<v>{_VALUE})"
         rf"{_END}", check=_is_attribute, sort=_sort),
)  # fmt: skip
ASKED: tuple[Rule, ...] = (
    Rule("", "", rf"(?:这个)?(?P<k>[^\s，。是叫：:=]{{1,12}}?)(?:是|叫做?|：|:|=)(?P<v>{_VALUE}){_END}",
         check=lambda key, value: not (_NO_KEY.fullmatch(simplified(key)) or _NO_VALUE.match(simplified(value)))
         and re.match(r"(?:我|你|他|她|这|那|它|今天|明天)", key) is None, sort=_sort),
)  # fmt: skip

_SPLIT = re.compile(r"[，,；;。！!]\s*|(?:而且|并且|但是|不过|另外|还有)(?=我)")
_OPENING = re.compile(
    r"^(?:你好|您好|嗨|嘿|哈喽|大家好|对了|另外|还有|顺便(?:说一下|说)?|其实|好的?|嗯|哦|那|请|麻烦|而且|但是|不过|"
    r"说一下|告诉你|"
    r"跟你说|顺便告诉你|补充一下|更新一下|更正|目前|现在)[\s，,：:!！。]*"
)


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence; one that goes on about the same person begins with that person too."""
    found: list[str] = []
    for part in _SPLIT.split(sentence.replace(" ", " ").strip()):
        clause = part.strip()
        while (shorter := _OPENING.sub("", clause)) != clause:
            clause = shorter
        if found and re.match(
            r"(?:今年|住在?|来自|在.{1,12}(?:工作|上班)|是一?[名个位]|喜欢|养了|对.{1,10}过敏|不吃|不喝)", clause
        ):
            first = re.match(r"我(?!的|家|们)", found[0])
            clause = f"我{clause}" if first else clause
        if found and found[0].startswith("我") and re.match(rf"{_KIN}(?:今年)?\d{{1,3}}岁", simplified(clause)):
            clause = f"我{clause}"
        found += [clause] if clause else []
    return found


GRAMMAR = Grammar(
    rules=RULES,
    asked=ASKED,
    clauses=clauses,
    tail=re.compile(r"(?:，|,|因为|所以|但是|不过|虽然|的时候|[（(]).*$", re.DOTALL),
    joints=re.compile(r"[、/]|(?<=[^\s])(?:和|以及|还有|跟|与)(?=[^\s])"),
    plain=simplified,
    never=re.compile(r"明天|后天|今天|昨天|今晚|[下上这]个?(?:周|星期|礼拜|月)|[明去]年"),
    trim=re.compile(r"^(?:都|也|一个|一款)(?=..)|(?:啊|哦|呀|啦|哈|呢|谢谢|吧)$"),
)
