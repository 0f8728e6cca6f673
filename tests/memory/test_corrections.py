"""What corrects an answer and teaches, and what only begins like it: a question, a task for once, a story, a joke."""

import pytest

from nanomem_tui.language.corrections import detect
from tests.memory.test_capture_sentences import told
from tests.memory.turns import begin, turn

EVERYDAY = """
    不对称加密是什么？ | 不对外开放的景点有哪些？ | 不对口的专业怎么找工作？ | 错误代码 500 是什么意思？
    错误处理怎么写？
    错别字检查一下这篇文章 | 太长时间没运动了，怎么恢复？ | 太短的睡眠对身体不好吗？ | 太长的句子怎么拆分？
    别人都说这个手机好，你怎么看？ | 别的办法呢？ | 别克汽车怎么样？ | 不要紧，慢慢来 | 不是所有人都喜欢你 | 不是吗？
    请用筷子造句
    简短介绍一下北京 | 简短地说说量子力学 | 短文帮我翻译成英文 | 用中文怎么说 hello？ | 用英语写一封邮件给 Bob
    用英文写一首诗
    说英语的国家有哪些？ | 说中文的外国人多吗？ | 不对称加密是什么 | 太长时间坐着对腰不好 | 详细介绍一下长城
    简洁的简历模板
    写一篇详细的游记 | 说明书太长了吗？ | 用德语歌教我发音 | 重新写一首关于秋天的诗 | 纠正我的语法
    有误差的测量怎么处理
    错了车次怎么办 | 不正确的坐姿会伤腰 | 太多人排队，我走了 | 不是很饿 | 简短回答：什么是光合作用 | 用法语怎么说谢谢？
    长一点的裙子哪里买 | 不准确的天气预报真烦人 | 不是我不想去，太累而已 | 你说错了吗？ | 回答详细的问题要多久
    用日语翻译这句话 | 讲中文故事 | 请用英文写一封辞职信 | 不對稱加密是什麼？ | 太長時間沒運動了，怎麼恢復？
    用英語寫一封信給 Bob
    說英語的國家有哪些？ | 簡短介紹一下台北 | 不是所有人都喜歡你 | 請用筷子造句
    Too long a commute makes me tired, what can I do? | Too short for basketball? I'm 165cm.
    Wrong Turn is on TV tonight, is it good? | Wrong exit on the highway, how do I get back to A7?
    Incorrect password error on my laptop, help | Don't you think it will rain? | Don't panic is from which book?
    Don't touch the config on prod, I'm deploying | Stop motion animation software recommendations?
    Stop the container and start it again | Stop. | No idea what to cook tonight | No parking signs: where to buy?
    Shorter days are coming, right? | Shorten this text: the quick brown fox jumps | In French, what is bread called?
    In English literature who is Byron? | English breakfast recipe please | German shepherd puppies near me
    Speak to my manager about it? | Answer this riddle: what has four legs | Reply to Bob that I agree
    Use English muffins for the recipe? | Translate to French: good morning | Keep it short: what is DNA?
    Be careful, the road is icy | That's wrong on so many levels, the government I mean | You're wrong about me, haha
    I said yes to the proposal! | I asked Bob about it yesterday | not what I expected from the movie
    too verbose logging in nginx, how to reduce? | Too many open files error on linux, how to fix?
    you forgot the milk joke lol | Use English muffins for the recipe | In English literature Byron is a giant
    Shorter days are coming | Too long a drive for me | Longer battery life tips | More detailed maps of Norway
    Wrong size delivered by the shop | Incorrect tax form, what now? | Write in French: I live in Paris
    In Spanish, cat means gato | In German, translate: good night | Speak English muffin to me?
    Use French toast for brunch
    Answer in English the letter from Bob | Be brief at the meeting tomorrow? | Don't answer the phone
    Don't start yet | Don't write to Bob until Monday | Don't use the car today | Stop using my credit card tomorrow
    I said no to him yesterday | I meant well | I asked for a raise last week | I didn't say goodbye to her
    That's not bad | That's not far from here | That's too expensive for us | That is false advertising
    No, thanks | No, that's fine | No, not yet | Nope, all good | No, nothing else | no. never mind
    You forgot my birthday yesterday haha | You missed the party last night | That's wrong, isn't it?
    Fix this bug in parser.py | Try this recipe | Fix that: the build fails | Keep this short: translate hello
    Too much salt in the soup | Too simple a plan, said my boss | too long ago to remember | Is that too long?
    No, I haven't read them yet | Nope, never been there | No, but it sounds fun | No, I didn't go | No, we never met
    Correction fluid where to buy | Instead of tea I had coffee | Redo my kitchen plan for a smaller room
"""
TEACHES = """
    wrong, the cat is Luna | wrong it is Luna | That's not right, it opens at nine | please keep answers short
    stop using emojis | no emojis please | Please answer in German | too long, be concise | No, I asked for the blue one
    not what i meant, shorter please | Answer in German please. | That's too long. Keep it under three sentences.
    You're wrong, the capital of Australia is Canberra. | No, I said the red one, not the blue one.
    I meant Tuesday, not Thursday | No, it's Thursday. Remember: I never work on Fridays.
    Stop using so many bullet points.
    Don't use emojis when you write to my boss. | In English, please | in German!
    Use Spanish, I don't understand English
    Speak French with me | reply in Italian, not in English | way too verbose | too technical for me | too long tbh
    longer answers please | be brief | More concise, thanks
    Be more concise. I'm busy.
    keep it short | keep answers short: three sentences at most | keep your replies simple | no more jokes please
    I said use tabs | I said no emojis | I asked for Python, not Java | I didn't ask for code | Incorrect: it is 42
    Wrong answer, it is 7 | That's not Luna, it's Mia | that isn't true, we met in 2019 | you missed the second question
    correction: it is Luna | That's wrong! It is Luna. Can you fix it? | Too long. Can you make it shorter?
    Answer in German, ok? | Don't apologise all the time | never say I'm welcome | No, use spaces
    你记错了，是周三 | 回答简短一点 | 请把回答写得详细一点 | 别用表情符号了 | 不对 请用中文 | 不对，太长了 | 太啰嗦了
    太长了
    我说的不是这个，是蓝色的那个 | 请用中文回答 | 用英文回复我 | 不是蓝色，是红色 | 说重点
    不要再道歉了
    请用繁体中文 | 请用粤语回答 | 请用中文好吗？ | 回答太长了，简短一点。 | 不对，我说的是红色的那个。 | 请简短回答
    应该是周三
    以後都用繁體中文回答我。 | 以後請用英文回覆 | 請用繁體中文 | 回答太長了，簡短一點。 | 別用表情符號。
    不對，應該是週三 | 太囉嗦了
    請用中文回答
    我說的不是這個，是藍色的那個 | 你記錯了，是週三
"""


@pytest.mark.parametrize("text", told(EVERYDAY))
def test_a_question_a_task_a_story_and_a_joke_teach_nothing(text):
    assert detect(text, "An answer of some length that was given before.") is None


@pytest.mark.parametrize("text", told(TEACHES))
def test_a_correction_teaches(text):
    found = detect(text, "An answer of some length that was given before.")
    assert (found.text, found.is_empty) == (text, False)


@pytest.mark.parametrize("text", ["Shorter please", "make it shorter", "短一点", "再短一点", "详细一点吧", "longer!"])
def test_what_is_asked_of_one_answer_teaches_nothing_for_good(text):
    found = detect(text, "An answer of some length that was given before.")
    assert found is None or found.is_empty


@pytest.mark.parametrize(
    ("taught", "everyday"),
    [
        ("Answer in German please.", "In French, what is bread called?"),
        ("请用中文回答", "用英文写一首诗"),
        ("請用繁體中文", "用英語寫一封信給 Bob"),
        ("That's too long. Keep it under three sentences.", "Too short for basketball? I'm 165cm."),
    ],
)
def test_no_question_and_no_task_takes_the_place_of_a_correction(ws, taught, everyday):
    turn(ws, "What is the plan?", "The plan is to go there in the morning.")
    turn(ws, taught, "That is how it will be.")
    turn(ws, everyday, "That is another matter.")
    assert [one.better_action for one in begin(ws, "and what about cheese?").lessons] == [taught]
