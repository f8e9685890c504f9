"""Traps: words that look like knowledge and are not.

`silent` judges a whole utterance, `hollow` one sentence, `asks` and `requests` one clause.  Each row names
the mistake that it prevents.  When in doubt a guard says no: a missed fact can be said again, a
wrong one is believed.
"""

from __future__ import annotations

import re
from typing import Final

MAX_CHARS: Final = 2000  # longer messages are nearly always pasted


def _any(*rows: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{row})" for row in rows), re.IGNORECASE | re.ASCII)


_SECRET: Final = _any(
    r"(?:密码|口令|passw(?:or)?d|passphrase|\bpwd|\bpin|token|api[ _-]?key|secret(?: key)?|密钥|"
    r"凭证)[^,，。\n]{0,24}?(?:是|为|\bis|\bare|[:=：])\s*[\"'“]?(?![\"'“]?(?:never|not|required|stored|always|must|"
    r"in|on|the|a|an|hashed|reset|rotated|kept|read|set|optional|必须|不|要|至少)(?![\w]))[!-~]{4,}",
    r"\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|glpat)[-_A-Za-z0-9]{12,}",
    r"-----BEGIN [A-Z ]*KEY",
    r"\bBearer\s+[\w.~+/-]{8,}",
    r"\[REDACTED",
    r"\beyJ[\w-]{10,}",
)
# A request that carries a text to work on: nothing behind it is the speaker's own claim.
_PAYLOAD: Final = _any(
    r"翻译|译成|润色|改写|续写|仿写|扩写|缩写成|总结(?:一下|下面|以下|这)|概括|校对|语法(?:检查|错误)|朗读|造句|作文",
    r"\b(?:translate|summari[sz]e|rephrase|rewrite|paraphrase|proofread|polish (?:this|the|my|up)|"
    r"correct the grammar|transcribe|tl;?dr)\b",
    r"(?:写|编|来)(?:一?[篇首个段封则]|个)[^，。]{0,12}(?:日记|故事|小说|诗|文章|歌|邮件|信|剧本|文案|台词|自我介绍|"
    r"演讲|对话)",
    r"\b(?:write|draft|compose|prepare|add) (?:me |us )?(?:a|an|some|the) [\w ]{0,24}\b(?:poem|story|song|essay|letter|"
    r"e?mail|script|bio|diary|dialog(?:ue)?|speech|scene|tweet|post|announcement|comment|slogan|caption|headline|"
    r"release notes|commit message)\b(?! (?:to|when|for|if|whenever) )",
    r"(?:写|加|编|拟|起草|发)(?:一?[条则个篇段]|个)?[^，。:：]{0,8}(?:注释|公告|通知|推文|微博|朋友圈|评论|标语|标题)[:：]",
    r"(?:here'?s|this is) what [\w' ]{1,30}(?:wrote|said|sent|posted|replied)",
    r"(?:here(?:'s| is| are)|this is|below is|I (?:just )?(?:got|received|found)) [\w' ]{0,30}\b(?:e-?mail|mail|"
    r"message|letter|text|ticket|notice|transcript|post|tweet|review|comment|log|output|snippet|chat)s?\b[\w' ]{0,30}:",
    r"(?:收到|这是|看到|发来|贴(?:一下|出)?|转发)[^，。:：]{0,16}(?:邮件|短信|消息|通知|来信|帖子|公告|评论|工单|日志|"
    r"聊天记录)[^，。:：]{0,8}[:：]",
    r"^(?:from|to|subject|发件人|收件人|主题)\s*[:：].*\n",
    r"(?:^|\n)(?:fix|explain|review|debug|refactor|complete)[\w ,]{0,40}:\s*\n",
    r"(?:帮|给)我?(?:看看|看下|看一下|改改|改一下|检查)(?:这|下面|以下)[^，。]{0,6}[:：\n]",
    r"(?:以下|下面)是?(?:一?[段封篇])?[^，。]{0,10}(?:对话|聊天记录|邮件|原文|内容|日志)",
)
# Somebody else speaks through the user, or nobody does.
_FICTION: Final = _any(
    r"小说|做了?个?梦|梦[见到里]|电影里|剧里|故事里|男主|女主|主角|剧情|台词|这道题|面试题|作业题|题目[:：是]|"
    r"考试题|例句",
    r"\b(?:pretend|role-?play|imagine|act as|you are (?:now )?a|in the (?:novel|movie|book|story|show)|once upon|"
    r"in (?:my|a) dream|I dream(?:ed|t))\b",
    r"扮演|你现在是|假装你?|角色扮演|设想",
    r"\buser stor(?:y|ies)\b|\bas an? [\w ]{2,20},? I (?:want|need)\b|用户故事|作为一[个名].{1,10}[，,]?我(?:想|"
    r"希望|需要)",
    r"^\s*(?:要求|requirements?)\s*[:：]|\blorem ipsum",
)
_MOCKING: Final = _any(
    r"(?:^|\s)/s\b|🙄|😂|🤣|😏|🙃|\(狗头\)|\[狗头\]|狗头保命|哈哈|呵呵|嘿嘿|233|开玩笑|开个玩笑|反话|滑稽|才怪|"
    r"可真是|可太|真是谢谢|怎么可能会?不",
    r"\b(?:lol|lmao|rofl|haha+|hehe|just kidding|jk|kidding|yeah,? right|sarcasm|as if|oh great|said no one ever|"
    r"of course not)\b",
    r"\b(?:just|so|absolutely|totally|really) (?-i:LOVE|ADORE|ENJOY)\b|\b(?-i:I) just love (?:how|it when|when|"
    r"getting|being)\b",
    r"\b(?:wow|oh|ah|great|fantastic|wonderful|lovely),? (?:great|another|just what|how nice|I (?:just )?love)\b",
    r"我(?:谢谢|真是|可)(?:你|谢|服)|好得很|真行啊|有你的",
)
_SUPPOSED: Final = _any(
    r"(?:打个比方|举个例子|举例|(?:^|[，,：:])\s*(?:比如|比方|例如|譬如)说?(?:[，,：:]|(?=我|我们|“|「|\")))",
    r"\b(?:for example|for instance|e\.g\.),? (?:I|we|my|our|if|[\"'“])",
    r"如果|假如|假设|假使|假定|要是|倘若|万一|设想|若是|就算|即使|哪怕|的话(?![题语筒费剧])|那话|当初|本来(?:想|"
    r"打算|要)|差点|早知道|但愿|(?:就)好了$",
    r"\b(?:what if|if (?:I|we|you|he|she|they|it|the|my|our|there|this|that)\b|suppos(?:e|ing)|assum(?:e|ing)|"
    r"let'?s say|say (?:we|I|my)|hypothetical(?:ly)?|in theory|imagine|were I|had I|I wish|if only|unless I|"
    r"would have|could have|should have|would've|wouldn't|I'?d (?:be|have|love|like(?! (?:all |your )+(?:answers|"
    r"replies|responses))|hate|probably|rather|"
    r"prefer(?! you)|never)|I would(?! like (?:all|your))|we(?:'d| would))\b",
)
_UNSURE: Final = _any(
    r"可能(?!性)|也许|或许|大概率|说不定|好像|似乎|应该是|不确定|不知道|不清楚|没想好|没决定|还没定|没定|未定|"
    r"印象[中里]|没记错|记错|貌似|再看[吧看]|再看$|再说(?!一[下遍次])|再考虑|在考虑|考虑(?:一下|要不要|是否|中)|在想|想不想|犹豫|纠结|"
    r"要不(?!然)|试试|(?<!别)(?<!不要)忘了|记不[清得]|我(?:猜|估计|怀疑)|我觉得|据我所知|喜不喜欢|是不是|有没有",
    r"\b(?:maybe|perhaps|probably|possibly|might|not sure|unsure|no idea|undecided|don'?t know|do not know|"
    r"can'?t remember|forg[oe]t|wonder(?:ing)?|thinking (?:about|of)|think(?:ing)? I|I think|I guess|I suppose|"
    r"I assume|considering|leaning|could be|some ?day|one day|eventually|haven'?t decided|tempted|if I recall|iirc|"
    r"afaik|if memory serves|if I'm not mistaken|from memory|last I (?:checked|heard)|as far as I|"
    r"as I recall|I (?:reckon|suspect|believe(?! in\b))|not yet|can'?t believe|I hope|hopefully|kind of want|"
    r"not certain|doubt)\b",
)
_REPORTED: Final = _any(
    r"听说|据说|据(?:报道|悉|传|称|了解)|传闻|网上说|有人[说讲]|告诉我",
    r"(?:[他她它]们?|(?:同事|用户|客户|人|家长|同学)们)[^，。]{0,4}(?:[说讲称]|喜欢|讨厌|告诉|觉得|认为|打算|决定|"
    r"习惯|希望)",
    r"(?:老板|领导|同事|客户|朋友|老师|医生|上司|经理|房东|[妈爸哥姐弟妹爷奶公婆友])[^，。]{0,6}(?:[说讲称](?!代码)|"
    r"要求|告诉|提到)",
    r"(?:文档|官方|书|文章|README|手册|专家|群|邮件|短信|消息|通知|公告|来信|日志|注释|帖子|评论|截图)[里上中]?"
    r"[^，。]{0,4}(?:[说讲称]|写着|写的|写道|写[:：]|提到|显示)",
    r"\b(?:said|says|told|tells|claims?|claimed|reckons?|argues?|wrote|writes|reportedly|allegedly|rumou?rs?|"
    r"I(?:'ve)? (?:heard|read)|according to|(?:docs?|documentation|manual|readme|guide|spec|book|article|error|"
    r"message|policy page) says?|(?:will|'ll|would|might|may) (?:say|claim|argue|insist|tell)|states?|quote|"
    r"mentioned|suggests|insists|apparently|they say|supposedly)\b",
    r"\b(?:(?<!I )(?<!we )say|saying|reads?|prints?|shows?|shout(?:s|ing)?)[:,]? [\"'“‘「]",
)
_DENIED: Final = _any(
    r"不是我|没有?说|并不是说|不是说|我不是(?:要|想)|谁说|别以为|没必要说|从没说|没讲过|并非",
    r"\b(?:never said|didn'?t say|did not say|not saying|not that I|it'?s not (?:that|like|as if)|isn'?t that|"
    r"never claimed|don'?t (?:think|mean|mind|believe|get me wrong)|do not (?:think|mind)|not because I|nobody said|"
    r"no one said|not true that)\b",
)
# For this once: a task, not a rule.
_ONCE: Final = _any(
    r"(?<!每)(?:这|本|此|那)(?:一)?[次回趟遍篇份](?!迭代|版本|的?(?:事故|故障|教训|经历|复盘|会议?|升级|迁移|发布|"
    r"上线|部署|讨论|评审))|就这一次|仅此|一次性|这个?(?:报告|函数|文件|任务|问题|例子|段落)(?:里|先|就|"
    r"只)?(?!.*(?:以后|永远|始终))",
    r"\b(?:just this once|this (?:once|time)|for (?:this|that|the) (?:report|answer|reply|response|one|task|file|"
    r"email|message|example|question|chart|summary)|for now just|right now|just now|at once|in this (?:answer|reply|"
    r"case|report|example))\b",
    r"(?:^|[，,])\s*先(?:别管|不管|这样|把|给|看|写|做|试|休息)|继续吧?$|就行了$",
)
_REQUEST: Final = _any(
    r"(?<!请)帮(?:我|忙)(?!记)|麻烦(?:你|您)|(?:给|替|跟)我(?:写|讲|说说|讲讲|看看|做|弄|找|查|画|列|生成|推荐|发|"
    r"来|出|整理|解释|分析)(?!代码都)|提醒我|我想(?:看|问|知道|了解|要|请|让|查|听|试|把)|能不能|可不可以|可以帮|"
    r"请问|怎么(?:才|做|办|样|写|用|改|回事)|如何|推荐(?:一|几|个|点)|你(?:查|看|帮|说|觉得|认为)(?:一下|看|呢|下)?",
    r"\b(?:remind me|help me|show me|tell me|explain|describe|give me (?:a|an|the|some|two|three|five|ten|\d+)|"
    r"i'?d like(?! (?:all |your )+(?:answers|replies|responses))|i want(?: to|ed to)? (?:see|know|ask|"
    r"you to (?:write|fix|make|create))|i need (?:you to|a|an|the|"
    r"some|help|to (?:see|know|fix|find|write))|can you|could you|would you|will you|let me|let'?s|shall we|"
    r"how (?:do|can|to|about)|make (?:it|this|that|the)|fix (?:the|this|it)|change (?:the|it|this|that)|rename|"
    r"(?:skip|ignore) (?:the|it|this))\b",
)
_EDIT: Final = _any(
    r"第[一二三四五六七八九十\d]+[段句行条点章节页个]|这[段句行]|[那这]个词|上面的?[这那]?|下面的?|标题里?|开头|"
    r"结尾|错别字|措辞",
    r"\b(?:paragraph|sentence|typo|the (?:word|title|heading|intro|conclusion|first|second|third|last) ?(?:line|one|"
    r"part|word|point)?|line \d+|above|below|wording|"
    r"(?:this|that|the|each|first|second|third|last) (?:\w+ )?bullet)\b",
)
_QUESTION_FORM: Final = _any(
    r"[吗嘛么呢](?:[。，,！!]|$)|什么|为何|怎[么样]|哪[里儿个些种]|谁(?!都)|几[个点时次]|多[少久大长远](?!都)|来着|"
    r"是否|要不要|能否|可否|还是[^，。]{1,12}[呢？]|对吧$|是吧$",
    r"^(?:when (?=(?:do|does|did|is|are|was|were|will|can|could|should|would|has|have)\b)|who|what|where|which|why|"
    r"how|whose|do|does|did|is|are|am|was|were|can|could|should|would|will|shall|has|have|had|isn'?t|aren'?t|"
    r"don'?t (?:you|we|I)|doesn'?t|didn'?t|can'?t (?:we|you|I|it)|couldn'?t|shouldn'?t|won'?t|any(?:one|body|"
    r"thing)?)\b(?! (?:not )?(?:ever|push|touch))",
    r"\b(?:right|isn'?t it|don'?t (?:you|we)|doesn'?t it|correct|agreed|ok)\s*\?$",
)
_TAG: Final = _any(
    r"[,，]\s*(?:(?:do|does|did|is|are|was|were|have|has|can|will|would|should)n'?t (?:we|you|I|it|they|he|she)|"
    r"(?:do|does|did|is|are|have|can|will) (?:we|you|it|they)|right|correct|no|yes|eh|or not|or)\s*\?+$",
    r"(?:对吧|是吧|没错吧|对不对|是不是)\s*[?？]+$",
)
_CHECKS: Final = re.compile(
    r"(?:检查|确认|验证|看看?|核对|判断|测试?|观察)[^，。]{0,16}(?:是否|会不会|能不能|有没有|是不是)|(?:别|"
    r"不要)问[^，。]*"
)
_IDIOM: Final = _any(
    r"不要紧|别(?:担心|急|怕|闹|逗|客气|介意|扯|提了|说了|这样)(?!.*(?:以后|永远))|不必了|没关系|不要[!！。]?$",
    r"\bnever ?mind\b|\bdon'?t (?:worry|bother|panic|mention it|hesitate|sweat|ask)\b",
)


def silent(text: str) -> bool:
    """Say whether nothing at all may be learned from an utterance."""
    return (
        _SECRET.search(text) is not None
        or _PAYLOAD.search(text) is not None
        or _FICTION.search(text) is not None
        or _MOCKING.search(text) is not None
    )


def hollow(sentence: str) -> bool:
    """Say whether a sentence is supposed, unsure, reported, denied or for this once."""
    cleared = _CHECKS.sub("检查", sentence)
    rows = (_SUPPOSED, _UNSURE, _REPORTED, _DENIED, _ONCE, _EDIT, _TAG)
    return any(row.search(cleared) is not None for row in rows)


def asks(clause: str) -> bool:
    """Say whether words ask something, or are an idiom of courtesy."""
    cleared = _CHECKS.sub("检查", clause)
    return any(row.search(cleared) is not None for row in (_QUESTION_FORM, _IDIOM))


def requests(clause: str) -> bool:
    """Say whether words ask for something to be done now."""
    return _REQUEST.search(clause) is not None
