"""Chinese as our patterns are written: the traditional characters that occur in them as the simplified ones.

Owns that table, one character for one, so that a place in what comes out is the same place in what went in. It is no
translation: words that only Taiwan or Hong Kong use stand in the patterns beside the others. Pure.
"""

from __future__ import annotations

_TRADITIONAL = (
    "丟乾來係個們備傾儘儲兒內兩別刪剛動務區厭問喫單嗎囉國團媽孫學實寧寫將對師幣幫幹幾廢廣後從復愛慣憶應懷採換擇擴擾數"
    "於時暫書會朮東條業榦樂標樣機檔檢檯歡歲歸氣決沒況準溝漢潔潤為無煉煙煩爺現畢當癥發盡確禮稱筆節簡籠粵糾約級細終結絕"
    "給統經線編縮總繫纔羅習職聽腦臺菸萬薦號術裝裡製複見視親覺訂訊討託記設許訴試話該詳認語誤說誰課調請論講謝識譯議讀讓"
    "讚貓貨貫資贊車較輸辦這週進遊運過遠遲選還郵鄉醫釋錄錢錯鍛長開間閩關隊隨隻雜離電韓項須預題願類顯風颱飽養餵體髮麵麼"
    "點裏麽著"
)
_SIMPLIFIED = (
    "丢干来系个们备倾尽储儿内两别删刚动务区厌问吃单吗啰国团妈孙学实宁写将对师币帮干几废广后从复爱惯忆应怀采换择扩扰数"
    "于时暂书会术东条业干乐标样机档检台欢岁归气决没况准沟汉洁润为无炼烟烦爷现毕当症发尽确礼称笔节简笼粤纠约级细终结绝"
    "给统经线编缩总系才罗习职听脑台烟万荐号术装里制复见视亲觉订讯讨托记设许诉试话该详认语误说谁课调请论讲谢识译议读让"
    "赞猫货贯资赞车较输办这周进游运过远迟选还邮乡医释录钱错锻长开间闽关队随只杂离电韩项须预题愿类显风台饱养喂体发面么"
    "点里么着"
)
_TABLE = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


def simplified(text: str) -> str:
    """`text` with each traditional character that our patterns know as the simplified one; of the same length."""
    return text if text.isascii() else text.translate(_TABLE)
