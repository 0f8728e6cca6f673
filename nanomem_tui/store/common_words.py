"""Common English words: who writes one of them meant it, even where another word is one letter away.

Owns the list and nothing else; loaded when a word of a question is held by no row. Knows no index.
"""

from __future__ import annotations

from functools import lru_cache

from nanomem_tui.tokens import tokens

_WORDS = (
    "acid airy ally alone along aloud amid anger angle angry ankle apart apple apply april arena argue arise army "
    "aside asleep aunt auto avoid awake award aware away baby back bacon badge bake baker ball band bank barn base "
    "basic basin basis batch bath beach bead beam bean bear beard beast beat beauty beef beer begin belief belly "
    "belong belt bench bend berry bike bill bind bird birth bite bitter black blade blame blank blast bleed blend "
    "bless blind block blood bloom blow blue board boast boat body boil bold bolt bomb bond bone book boost boot "
    "border bore born boss bottle bottom bounce bowl brain brake branch brand brass brave bread break breath breed "
    "brick bride bridge brief bright bring broad brother brown brush bucket budget build bulb bulk bull burn burst "
    "bury bush busy butter button buyer cabin cable cage cake call calm camel camera camp canal candle candy cape "
    "card care cargo carry cart carve case cash cast castle catch cattle cause cave cell cent center chain chair "
    "chalk chance change charge charm chart chase chat cheap cheat check cheek cheer cheese chess chest chew chicken "
    "chief child chill china chip choice choose chop church circle city civil claim clap class clay clean clear clerk "
    "clever click cliff climb clinic clock close cloth cloud club clue coach coal coast coat code coffee coin cold "
    "collar color colour come comedy comfort comic common compare cook cool copper copy coral core corn corner cost "
    "cottage cotton couch cough count county couple courage course court cousin cover crab crack craft crash crazy "
    "cream create credit creek crew crime crop cross crowd crown cruel cruise crush cure curl curry curve custom cute "
    "cycle daily dairy damage dance danger dare dark data date dawn dead deaf deal dear death debate debt decade deck "
    "deep deer defeat defend degree delay demand deny depart depend depth desert design desk detail device devil dial "
    "diary diet dinner dirt dish disk dive dock doctor doll dollar door dose double doubt dough dozen draft drag "
    "drain drama draw dream dress drift drill drink drive drop drug drum duck dump dust duty eager eagle early earn "
    "earth east easy echo edit effect effort eight either elbow elder elect empty enemy energy engine enjoy enough "
    "enter entire entry equal error escape essay even event ever every evil exact exam except excuse exist exit "
    "expect expert explain extra face fact fade fail faint fair faith fake fall false fame family famous fancy farm "
    "fashion fast fate fault favor favour fear feast feather feed feel fellow fence ferry fever fiber field fifth "
    "fifty fight figure file fill film final find fine finger finish fire firm first fish five flag flame flash flat "
    "flavor flesh flight float flock flood floor flour flow flower fluid flute foam focus fold folk follow food fool "
    "foot force forest forget fork form fort forty forward frame free freeze fresh friday friend front frost fruit "
    "fuel full fund funny furry future gain game garage garden garlic gate gather gear gentle ghost giant gift ginger "
    "girl give glad glass globe gloom glory glove glue goal goat gold golf good goose grab grade grain grand grant "
    "grape grass grave gray great greed green greet grey grief grill grin grip group grow guard guess guest guide "
    "guilt guitar habit hair half hall hammer hand handle handy hang happen happy harbor hard harm harsh harvest "
    "haste hate hawk head heal health heap hear heart heat heavy heel height hello help herb herd hero hidden high "
    "hike hill hint hire hobby hold hole holiday hollow holy home honest honey honor hook hope horn horse host hotel "
    "hour house huge human humble humor hunger hunt hurry hurt idea ideal image inch income index infant inform "
    "injury inner input insect inside invite iron island issue item jacket jail jeans jelly jewel join joint joke "
    "journey judge juice july jump june jungle junior jury keen keep kettle kick kidney kill kind king kiss kitchen "
    "kite knee knife knit knock knot know label labor lack ladder lady lake lamb lamp land lane large laser last late "
    "later laugh laundry lawn lawyer layer lazy lead leaf leak lean learn lease least leather leave legal lemon lend "
    "length less lesson letter level library license life lift light like limb limit line link lion liquid list "
    "listen little live liver load loan local lock lodge lonely long look loop loose lord lose loss loud lounge love "
    "lower loyal luck lucky lump lunch lung luxury machine magic mail main major make male mall manage mango manner "
    "many maple march mark market marry mask mass master match mate math matter maybe mayor meal mean meat medal "
    "media meet melon melt member memory mend mental mention menu mercy merry mess metal meter middle mild mile milk "
    "mill mind minor mint minute mirror miss mist model modern moment monday money monkey month mood moon moral "
    "morning motor mount mountain mouse mouth move much murder muscle museum music myth nail name narrow nasty nation "
    "native nature near neat neck need needle nerve nest never news next nice niece night nine noble noise none noon "
    "normal north nose note notice novel number nurse obey object ocean offer office often okay olive onion open "
    "opera option orange orbit order organ ounce oven owner oxygen pace pack page pain paint pair palace pale palm "
    "panel panic paper pardon parent park part party pass past pasta path patient pause peace peach peak pear pearl "
    "pencil pepper permit person phase phone phrase piano pick picnic picture piece pigeon pile pill pillow pilot "
    "pine pink pipe pitch pity pizza place plain plan plane planet plant plate play please plenty plot plug plum plus "
    "pocket poem poet point poison pole police polish polite pond pony pool poor pope porch pork port pose post "
    "potato pound pour powder power praise pray press pretty price pride priest prince print prison prize profit "
    "proof proper proud prove public pull pulse pump punch pupil puppy pure purple purse push puzzle queen quest "
    "question queue quick quiet quilt quit quiz quote rabbit race rack radio rage rail rain raise ranch range rank "
    "rapid rare rate rather raven reach react read ready real reason rebel recall recent recipe record reduce refer "
    "refuse regard region regret reject relax relief rely remain remind remote remove rent repair repeat reply report "
    "request rescue rest result return reveal review reward rhyme rhythm rice rich ride right ring riot rise risk "
    "rival river road roar roast robe robot rock rocket role roll roof room root rope rotten rough round route royal "
    "rubber rude ruin rule rural rush sack sacred saddle safe sail saint salad salary sale salmon salt sand sauce "
    "save scale scar scare scarf scene school science score scout scream screen script seal search season seat second "
    "secret seed seek seem seize seldom select self sell send senior sense serve seven severe shade shadow shake "
    "shame shape share shark sharp shed sheep sheet shelf shell shield shift shine ship shirt shock shoe shoot shop "
    "shore short shout show shower shut sick side sign signal silent silk silly silver simple since sing single sink "
    "sister site size skate sketch skill skin skirt slave sleep slice slide slight slim slip slope slow small smart "
    "smell smile smoke smooth snack snake snow soap soccer social sock soda sofa soft soil solar soldier sole solid "
    "solve song soon sore sorry sort soul sound soup sour south space spare speak special speech speed spell spend "
    "spice spicy spider spin spirit split spoil spoon sport spot spray spread spring square squash stable stack staff "
    "stage stain stair stamp stand star stare start state station stay steady steak steal steam steel steep stem step "
    "stick stiff still sting stir stock stone stool stop store storm story stove strange straw stream street stress "
    "strict strike string strip strong study stuff stupid style submit sudden suffer sugar suit summer sunday sunny "
    "supper supply support sure surf surface surgery survey sushi swamp swan sweat sweater sweep sweet swim swing "
    "switch sword symbol system table tail take tale talent talk tall tank tape target task taste teach team tear "
    "tell temple tempt tend tennis tent term test text thank theft theme thick thief thin thing think third thirst "
    "thirty thorn thread threat three throat throne throw thumb thunder ticket tide tidy tiger tight tile time tiny "
    "tire title toast today toilet tomato tone tongue tonight tool tooth topic torch total touch tough tour towel "
    "tower town trace track trade trail train trap trash travel tray treat tree trend trial tribe trick trip troop "
    "trouble truck true trunk trust truth tube tune tunnel turkey turn twelve twenty twice twin twist type uncle "
    "union unit upper upset urban usual vacant valley value vary vase vast vegan vein verb verse victim video view "
    "villa village vine violin virus visa visit vital voice volume vote wage wagon waist wait wake walk wall wallet "
    "wander want warm warn wash waste watch water wave weak wealth weapon wear weather weave wedding week weigh weird "
    "welcome well west whale wheat wheel whip whisper white whole wide widow width wife wild wind window wine wing "
    "winner winter wipe wire wise wish witch wolf woman wonder wood wool word work world worm worry worth wound wrap "
    "wreck wrist write wrong yard yarn year yell yellow yield young youth zebra zone"
)


@lru_cache(1)
def _stems() -> frozenset[str]:
    return frozenset(tokens(_WORDS))


def is_common(word: str) -> bool:
    """Whether a token is the stem of a common English word."""
    return word in _stems()
