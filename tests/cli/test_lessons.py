"""Lessons on the command line: what is told of their words."""


def test_a_secret_in_a_lesson_is_told(ramfirst, run):
    words = ["memory", "lessons", "add", "--trigger", "door", "--action", "say that the password is hunter2!"]
    assert "it holds a password: `nanomem scrub --mask` takes it out" in run(*words).err
    made = run("memory", "lessons", "add", "--trigger", "window", "--action", "run git status", "--json").json
    assert made["warnings"] == []
    edited = run("memory", "lessons", "edit", made["lesson"]["id"], "--action", "say hunter3! (password: hunter3!)")
    assert "it holds a password" in edited.err
