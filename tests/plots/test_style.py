def test_no_hatch_looks_like_the_ring_of_a_mistake():
    from polyceptron.plots import _paint, style

    assert not {"o", "O"} & {*"".join(style._HATCHES), *"".join(_paint._CLASS_HATCHES)}
