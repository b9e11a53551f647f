from gossipgan.reports import MetricName


def test_a_label_names_extractor_count_and_iterate() -> None:
    name = MetricName.parse("fid_digits_2000_ema")
    assert name is not None
    assert name.label == "FID (digits, 2000 samples, ema)"
    assert name.key == "fid_digits_2000_ema"
    assert name.lower_is_better


def test_the_floor_is_labelled_as_real_pictures() -> None:
    name = MetricName.parse("kid_inception_1000_floor")
    assert name is not None
    assert name.label == "KID (inception, 1000 real held-out pictures)"


def test_direction_of_the_scores_that_grow() -> None:
    for kind in ("is", "precision", "recall"):
        name = MetricName.parse(f"{kind}_digits_2000_ema")
        assert name is not None
        assert not name.lower_is_better


def test_what_is_no_metric_has_no_name() -> None:
    assert MetricName.parse("outcome") is None
    assert MetricName.parse("fid") is None
