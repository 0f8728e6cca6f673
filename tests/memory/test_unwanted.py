"""What a person asks not to be remembered is kept in no wording; what only sounds like it is kept as before."""

import pytest

from nanomem_tui.language.remembering import is_unwanted
from nanomem_tui.memory.turns.capture import UNWANTED
from tests.memory.test_capture import taken
from tests.memory.test_capture_sentences import told

ASKED = """
    I don't want you to remember this: my salary is 55k. | Don't store my address: I live at 5 Elm Street.
    I don't want you to remember that I smoke. | I do not want you to store this: my PIN hint is granny.
    I'd rather you didn't keep a note of this: I have HIV. | I'd prefer you didn't remember my address: 5 Elm Street.
    I don't want this stored: I'm seeing a therapist. | Never save my phone number, it's 555 0100 222.
    Don't keep my birthday: it's May 3rd. | Don't remember this: I was fired last week.
    Please don't save this, but I am pregnant. | Do not remember that I live in Paris. | Off the record: I hate my boss.
    You don't need to remember this: I prefer the aisle today. | Keep this to yourself: I'm divorcing.
    No need to remember that my brother is in prison. | Don't write this down. I'm leaving my husband.
    Between us, don't keep it: I'm quitting in May. | Please never remember my health: I'm diabetic.
    Please don't memorize my salary: I earn 90k. | Don't log this. I have cancer.
    I would rather you not store my address: I live in Porto. | I'd prefer if you did not save this. I am gay.
    I'd appreciate it if you wouldn't record this: I have debts. | I hope you won't remember that I am broke.
    I wouldn't want this saved: my name is Anna. | I don't want my address to be stored: I live in Lyon.
    We don't want this recorded: we decided to divorce. | I never want you to memorize my weight: I'm 120 kilos.
    I don't want anyone to keep a record of this: I love Tom. | I don't consent to you storing this: I am ill.
    This must not be saved: my brother is in prison. | My salary should not be stored. I earn 90k.
    This is not to be remembered: I hate my boss. | None of this should be remembered. I live in Oslo.
    I'd rather this wasn't remembered: I drink too much. | I'd prefer this not be saved: I have asthma.
    Please make sure you don't remember this: I have two wives. | Make sure this isn't kept. I am in debt.
    Could you not save this: I have a lover. | Would you mind not storing this: I'm single again.
    Please keep this out of your memory: I'm allergic to work. | Don't put this in your notes: I prefer men.
    Don't add my birthday to your memory: it's May 3rd. | Don't make a note of this, I am vegan.
    You must not keep my address: I live in Turin. | You're not allowed to remember my name: I'm called Bo.
    I prefer not to have this stored: I am diabetic. | Not for the record: I work at a bank.
    I’d rather you didn’t remember that I live in Paris | My address is 5 Elm Street, don't store it
    Stop remembering what I tell you about my wife, I have none. | Try to answer without saving this: I live in Rome.
    I have HIV. I'd rather you didn't keep a note of that. | Never store my phone number I'm on 555 0100 222
    Don't ever remember my real name, it's Ana. | please do not ever save our address: we live in Kiel.
    Please don't remember where I live: I live in Kiel. | You should not remember this: I live in Bonn.
    我不想让你记住这件事：我喜欢小王。 | 我不希望你记住：我有糖尿病。 | 不想让你保存这个：我叫张三。
    别存：我欠了二十万。
    别记住：我离婚了。 | 不要记住我的工资是五万。 | 不要记录这个：我怀孕了。 | 这个不用记，我住在北京朝阳区。
    不用记住我住在哪里，我住在天河区。 | 请不要保存：我得了抑郁症。 | 不要把我的地址存下来：我住在天河区一号。
    我不愿意你记住我的名字，我叫李雷。 | 我不希望这件事被记录下来：我在银行工作。 | 我不同意你保存我的电话：我住在上海。
    我不想让你把这个记下来：我讨厌老板。 | 你不能记住这个：我喜欢她。 | 这件事不要存，我有两个孩子。
    我叫王五，别记录。
    请勿保留我的地址：我住在杭州。 | 这话别写进你的记忆：我喜欢小王。 | 千万别把我的病记下来，我有糖尿病。
    不要留记录：我戒酒了。
    没必要记住我的生日，我的生日是五月三号。 | 不要存我的地址，我住在苏州。 | 禁止保存：我的公司要倒闭了。
    我不允许你存储这些内容，我叫赵六。
    我不想讓你記住這件事：我喜歡小王。 | 我不希望你記住：我有糖尿病。 | 不想讓你保存這個：我叫張三。
    別存：我欠了二十萬。
    這個不要記：我離婚了。 | 別記住我住在台北。 | 請勿記錄：我在銀行工作。 | 不要把我的地址存下來：我住在大安區。
    這個不用記，我住在台中。 | 我不希望這件事被記錄下來：我叫陳大文。 | 不需要記住我的電話，我住在高雄。
    請不要保存我的生日。
"""
OPENINGS = """
    I don't want you keeping this: | I don't want you to keep my salary: | I don't want you to note this down:
    I don't want you to hold on to this: | I don't want this in your memory: | I don't want this on record:
    I don't want this to be part of your memory: | I don't want any of this remembered:
    I don't want that remembered. | I don't want anything about my health stored.
    I don't want my health remembered: | I don't want you remembering this: | I'd rather you forgot this:
    I'd rather this stayed off the record: | I'd rather you don't save that
    I would prefer that you do not store my birthday: | I would prefer it if you didn't save this:
    I'd like you to not remember this: | I'd like you not to remember this: | I want you to not save this:
    I want you not to store this: | I want this not to be stored: | please not remember this | Pls dont save this:
    dont remember that | do not ever mention or store this: | Don't save or store this:
    Don't remember or repeat this: | Don't save this anywhere: | Don't save any of this.
    Don't save anything I say today. | Don't keep any record of this: | Don't keep this message.
    Don't store this message: | Don't save this chat. | Don't save this conversation,
    Don't record what I tell you now: | Don't commit this to memory: | Don't keep this in memory:
    Don't put that in your memory: | Do not add this to memory: | Don't memorise that | Don't take notes on this:
    Don't take note of this: | No notes please: | No need to save this: | No need to note this down:
    no need to keep this | There's no need to remember this: | You needn't remember this:
    You don't have to save this: | You do not need to store my address: | You shouldn't save this:
    You can't save this: | You are not to remember this: | Nothing of this should be stored:
    This isn't for your memory: | This is not for your notes: | This should stay off the record:
    This is off the record: | This is confidential, don't store it: | Without remembering it: | Never remember this:
    Never write this down: | Never keep my data: | Never record my voice: | Please refrain from saving this:
    Avoid storing this: | Can you not remember this: | Could you please not save this?
    Would you please not store my name: | Can you avoid saving this? | Is it possible not to store this?
    Please do this without saving it: | Let's keep this off the record: | Let's not save this:
    Let's not keep a record of this: | I hope you don't remember this: | I'm asking you not to store this:
    I ask you not to save this: | I beg you not to remember this: | I'm telling you this but don't save it:
    I must ask you not to keep this: | I'd be grateful if you didn't store this:
    It'd be great if you did not keep this: | It would be better if this wasn't saved:
    It's better not to save this: | Better not save this: | Better don't remember that
    I object to you storing this: | I forbid you to remember this: | I don't agree to this being stored:
    I don't allow you to save this: | I do not give you permission to store this:
    You have no permission to keep this: | Don't retain this: | Not to be stored: | not to be remembered:
    Do not store: | Don't save: | Don't remember: | do not log: | Skip memory for this:
    不要记： | 不要记下来： | 别记： | 别记下来： | 别记这个： | 别存这个： | 别存我的电话： | 不要存：
    不要存这条： | 不存： | 不要保存我的地址， | 不要把这个保存下来： | 不要把这件事记在心里： | 别把这个记录下来：
    别把这个写进笔记： | 别把我的名字存起来： | 别帮我记这个： | 不用帮我记这个： | 不要让系统保存这个：
    我不要你记住这个： | 我不要你保存： | 我不想你记住： | 我不想你保存这个： | 我不想被记录： | 我不想留下记录：
    我不想让这件事被保存： | 我不想把这个存下来： | 我不希望你把这件事记下来： | 我不希望留下任何记录：
    我不愿意让你保存： | 我宁愿你不要记住： | 我宁愿你别记： | 我宁愿你不记住这个： | 我希望你不要保存这个：
    我希望你别记住： | 希望你不要记下来： | 最好不要记： | 最好别存： | 能不能不要记住： | 能不能别保存：
    可以不记吗： | 可不可以不要记录： | 麻烦你不要记下： | 拜托别记： | 请你别记住这个： | 请不要记住这一点：
    请不要留存： | 请勿存储： | 请勿留底： | 这条不要保存： | 这条别存： | 这条消息不要记： | 这个不需要记：
    这个不必记住： | 这个不用存： | 这个不许记： | 这件事请别记： | 以上不要记录。 | 以下内容不要保存：
    你不用记住这个： | 你不需要记住： | 你不必保存： | 你别记： | 无需记住： | 没有必要记住这个： | 不需要保存：
    不必存： | 不准保存： | 禁止记录： | 不許記住： | 我不要你記住這個： | 請你別記這個： | 不要存檔： | 別留紀錄：
    不要留下紀錄： | 不要紀錄這件事： | 請不要儲存： | 別儲存這個： | 我不想讓這件事被儲存：
"""
NOT_ASKED = """
    I don't want you to forget this: my gate code is 4417. | Don't let me forget that I prefer aisle seats.
    Don't forget that I like tea | Never forget: my name is Anna | Don't let me forget: dentist on Thursday at 3pm
    I do not want you to forget that I am allergic to nuts | I never want you to forget that my name is Ana
    Please don't ever forget that I live in Porto | Make sure you don't forget that I am vegan
    I wouldn't want you to forget my name: I'm called Kit | You must not forget that I hate mushrooms
    My parents don't remember my birthday, it's my brother's they know.
    I don't remember my old address, I live in Rome.
    I never save money and I love shoes | I like tea and never save money | don't save my files to the desktop
    I don't store my bike at home, I live in a small flat | I never keep my phone in the bedroom
    People who don't keep their word, I hate them | My kids never save their money, I have two kids
    Never store this file in git | Don't log this error in production, we use Sentry | Never keep me waiting again
    Don't take this personally, but I prefer the old design | Don't write this in Java, I prefer Python
    Don't keep it too short, I like long answers | I don't want to save this file yet, I prefer the old one
    My files were not saved and I hate that editor | Why don't you remember? I prefer tea.
    You never remember my name: I am called Kit | I'd rather fly than drive | I'd prefer you remember that I am vegan
    I don't like to keep secrets, I live with my wife | I want you to remember this: I am allergic to nuts
    Don't you remember that I like tea? I love tea. | Stop the recording, I live next to the studio
    Don't worry, save this: my gate code is 4-2 | Don't forget and don't worry, I like tea
    You can't keep it a secret, I know
    Never mind the notes, I prefer tea | I can't save this file, I hate that editor | I forgot to store my bike
    No records of the band are sold here, I like jazz | Do I have permission to store this? I live here
    你怎么能不记得我的名字，我叫李雷 | 我希望你记住我喜欢茶 | 不要笔记本电脑，我喜欢平板 | 不用记账，我妈妈在管
    我能记住，我喜欢背书
    别让系统崩溃，我在写代码 | 我不记笔记，我喜欢录音 | 不放糖，我喜欢黑咖啡 | 我希望不要下雨，我住在海边
    别忘了我对花生过敏 | 不要忘记我住在上海 | 我不想让你忘记：我对花生过敏。 | 别让我忘了周四看牙医
    我不希望你忘记我的名字，我叫李雷。
    记住不要记错我的名字：我叫李雷 | 特别记住：我对花生过敏 | 别把我的生日忘记了：五月三号
    不要把会议记录发给别人，我在银行工作
    我不想记单词，我讨厌英语 | 不要把时间记错，会议改到下午三点 | 我不存钱，我喜欢花钱 | 别人记性好，我喜欢写下来
    不用存钱，我每天都花光 | 我不记得密码了，我住在上海 | 别记恨我，我喜欢你的想法
    別忘了我對花生過敏 | 我不想讓你忘記：我對花生過敏。 | 不要忘記我住在台北 | 特別記住：我對花生過敏
"""


@pytest.mark.parametrize("text", told(ASKED))
def test_what_a_person_asks_not_to_be_remembered_is_kept_in_no_wording(text):
    assert is_unwanted(text)
    found = taken(text)
    assert (found.rows, [why for _, why in found.dropped]) == ((), [UNWANTED])


@pytest.mark.parametrize("opening", told(OPENINGS))
def test_however_the_wish_begins(opening):
    found = taken(f"{opening} I have cancer." if opening.isascii() else f"{opening}我得了癌症。")
    assert (found.rows, [why for _, why in found.dropped]) == ((), [UNWANTED])


@pytest.mark.parametrize("text", told(NOT_ASKED))
def test_what_only_sounds_like_it_is_no_such_wish(text):
    assert not is_unwanted(text)
    assert UNWANTED not in [why for _, why in taken(text).dropped]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I don't want you to forget this: my gate code is 4417.", "my gate code is 4417."),
        ("I do not want you to forget that I am allergic to nuts", "I am allergic to nuts"),
        ("I never want you to forget my sister is Ana", "my sister is Ana"),
        ("Don't let me forget that I prefer aisle seats.", "I prefer aisle seats."),
        ("Don't let me forget: dentist on Thursday at 3pm", "dentist on Thursday at 3pm"),
        ("Please don't ever forget that I live in Porto", "I live in Porto"),
        ("Make sure you don't forget that I am vegan", "I am vegan"),
        ("You must not forget that I hate mushrooms", "I hate mushrooms"),
        ("我不想让你忘记：我对花生过敏。", "我对花生过敏。"),
        ("我不希望你忘记我的名字，我叫李雷。", "我的名字，我叫李雷。"),
        ("别让我忘了周四看牙医", "周四看牙医"),
        ("千万别忘了我对花生过敏", "我对花生过敏"),
        ("我不想讓你忘記：我對花生過敏。", "我對花生過敏。"),
        ("別忘了我對花生過敏", "我對花生過敏"),
    ],
)
def test_what_is_not_to_be_forgotten_is_a_wish_to_remember(text, kept):
    found = taken(text)
    assert [(row.item.text, row.item.source) for row in found.rows] == [(kept, "explicit_user")], found
    assert found.durable
