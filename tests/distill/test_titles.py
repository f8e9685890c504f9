"""What a scene is called: names that end where a name ends."""

from __future__ import annotations

import pytest
from test_scenes import atom

from stenolith.distill.titles import title_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("旧的鉴权模块先不要重构，移动端还在使用它。", "鉴权模块"),
        ("支付网关再等一周才发布", "支付网关"),
        ("订单服务只走内网", "订单服务"),
        ("任务优先级由客户决定", "任务优先级"),
    ],
)
def test_a_title_ends_where_the_name_ends(text: str, title: str) -> None:
    assert title_of([atom(1, text)], []).startswith(title)
