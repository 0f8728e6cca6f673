"""Text as our patterns are written: with straight apostrophes, and the traditional characters in them simplified.

Owns that table, one character for one, so that a place in what comes out is the same place in what went in. It is no
translation: words that only Taiwan or Hong Kong use stand in the patterns beside the others. Pure.
"""

from __future__ import annotations

import unicodedata

_TRADITIONAL = (
    "丟乾來係個們備傾儘儲兒內兩別刪剛動務區厭問喫單嗎囉國團媽孫學實寧寫將對師帳幣幫幹幾廢廣後從復愛慣憶應懷採換擇擴擾"
    "數於時暫書會朮東條業榦樂標樣機檔檢檯權歡歲歸氣決沒況準溝漢潔潤為無煉煙煩爺現畢當癥發盡確禮稱筆節簡籠粵糾紀約級細"
    "終結絕給統經線編縮總繫纔羅習職聽腦臺菸萬薦號術裝裡製複見視親覺訂訊討託記設許訴詞試話該詳認語誤說誰課調請論講謝識"
    "譯議讀讓讚貓貨貫資賬贊跡蹟車較輸辦這週進遊運過遠遲選還郵鄉醫釋錄錢錯鍛長開間閩關隊隨隻雜離電韓項須預題願類顯風颱"
    "飽養餵體髮麵麼點裏麽著"
)
_SIMPLIFIED = (
    "丢干来系个们备倾尽储儿内两别删刚动务区厌问吃单吗啰国团妈孙学实宁写将对师帐币帮干几废广后从复爱惯忆应怀采换择扩扰"
    "数于时暂书会术东条业干乐标样机档检台权欢岁归气决没况准沟汉洁润为无炼烟烦爷现毕当症发尽确礼称笔节简笼粤纠纪约级细"
    "终结绝给统经线编缩总系才罗习职听脑台烟万荐号术装里制复见视亲觉订讯讨托记设许诉词试话该详认语误说谁课调请论讲谢识"
    "译议读让赞猫货贯资账赞迹迹车较输办这周进游运过远迟选还邮乡医释录钱错锻长开间闽关队随只杂离电韩项须预题愿类显风台"
    "饱养喂体发面么点里么着"
)
_TABLE = str.maketrans(f"{_TRADITIONAL}覆", f"{_SIMPLIFIED}复")  # 回覆 is 回复 in the patterns


def straight(text: str) -> str:
    """A sentence with the apostrophes that our patterns have, and without blanks around it."""
    return text.replace("’", "'").strip()


def simplified(text: str) -> str:
    """`text` with each traditional character that our patterns know as the simplified one; of the same length."""
    return text if text.isascii() else text.translate(_TABLE)


def without_accents(text: str) -> str:
    """`text` without the accents over its letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
