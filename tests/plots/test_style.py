from polyceptron.plots import style


def test_names_that_differ_by_blanks_look_different():
    names = ["site=a", "site=a ", " site=a", "", " " * 40]
    assert style.short_names(names)[:4] == ["site=a", '"site=a "', '" site=a"', '""']
    assert all(len(name) <= 8 for name in style.short_names(names, 8))


def test_no_hatch_looks_like_the_ring_of_a_mistake():
    from polyceptron.plots import _paint

    assert not {"o", "O"} & {*"".join(style._HATCHES), *"".join(_paint._CLASS_HATCHES)}
