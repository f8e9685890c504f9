"""English rows that take a whole sentence: lessons, decisions, standing orders, limits."""

from __future__ import annotations

from typing import Final

from stenolith.distill.patterns import ABSOLUTE, ANY_PROJECT, CHOICE, CORE, ORDINARY, RULE, SPEAKER, Table, rows
from stenolith.distill.subjects import TOOL
from stenolith.model.atom import Kind

_SOFTLY: Final = r"(?:(?:all|finally|just|now|both|also|already|recently|jointly|eventually|unanimously) )*"
_WHERE: Final = (
    r"(?:[^.]*?\b(?:for|in|of) (?:the |our )(?P<s>[\w-]+(?: [\w-]+)?? (?:service|app|api|project|repo|module|"
    r"pipeline|frontend|backend|website|gateway|worker))\b)?"
)
# The one tool of a sentence; with two of them ("Kafka for events, Postgres for data") there is no single value.
_ONE_TOOL: Final = rf"(?:(?>[^.]*?(?P<tool>{TOOL}))(?:(?![^.]*{TOOL})|(?= (?:instead of|over|rather than|not) ))"
# "We decided to grab lunch" is an event at most.
_OUTING: Final = (
    r"(?! to (?:go(?! with)|grab|meet|have|watch|eat|stop|check|order|stay|come|hang|see|visit|take a|give it|"
    r"try it)\b)"
)
_ORDERS: Final = (
    r"(?:run|use|give|write|answer|reply|respond|ask|check|include|add|show|format|start|begin|end|keep|test|commit|"
    r"cite|explain|return|speak|talk|call|quote|provide|put|make|verify|confirm|create|name|follow|send|"
    r"double-check|read|review|wait|print|state|list|mention|squash|rebase|sign|wrap|document|lint|validate|escape|"
    r"close|set|log|save|translate|convert|round|address|prefix|target|prefer|avoid|omit|leave|stop|open|tag|pin|"
    r"export|show|summari[sz]e|suggest|present|refer|stick|be (?:brief|concise|direct|blunt|terse|formal))"
)
_ACTS: Final = (
    r"(?:push|merge|deploy|restart|commit|delete|drop|use|touch|edit|modify|change|run|send|email|e-mail|call|share|"
    r"log|store|print|expose|release|ship|upgrade|downgrade|install|import|write|read|force|rebase|skip|disable|"
    r"enable|open|close|remove|rename|move|copy|publish|post|contact|charge|refund|schedule|book|buy|order|mix|"
    r"hard-?code|cache|trust|mock|hotfix|reboot|reset|overwrite|truncate|migrate|rotate|reveal|mention|discuss|"
    r"reformat|refactor|rewrite|bump|pin|squash|tag|kill|query|connect|invite|approve|sign|pay|block|leak|sync|seed|"
    r"suggest|recommend)"
)
_NO_ONE: Final = r"(?!(?:it|this|that|them|him|me|you|us|any ?more|again)\b)"
_GROUND: Final = (
    r"(?:because|since|until|unless|without|while|before|after|during|as long as|or else|otherwise|on (?:fri|satur|"
    r"sun|mon)day|in production|, (?:the|it|we|that|they|as|I|I'm|I’m|my)\b|;|—| - )"
)
_STYLE: Final = (
    r"(?:answers|replies|responses|explanations|your (?:answer|reply|response)s?|code (?:samples|examples|blocks)|"
    r"everything you (?:write|send|produce)|emails you write|summaries|commit messages)"
)
_THING: Final = (
    r"(?P<s>(?!(?:it|this|that|there|he|she|they|you|i|we|your|write|make|create|add|give|show|find|generate|"
    r"implement|build|fix|use|return|define|let|get|put|keep|the (?:answer|output|result|response|text|"
    r"summary))\b)[\w./@-]+(?: (?!(?:you|we|i|they|he|she|says?|think|is|are|was|me|us)\b)[\w./@-]+){0,5}?)"
)
_LEAD_IN: Final = r"(?:(?:until|before|during|after|on|in|for|as of|starting) [^,]{2,30}, ?|until [\w-]+ )?"
# "That must be hard", "they must have known": a guess, not a rule.
_GUESS: Final = (
    r"(?:(?:really |still |all )?(?:have|feel|look|sound|seem|love|miss|know|mean|get|take|hate|admit|say|confess|"
    r"agree|like)|be (?:a|an|the|some|so|such|really|very|quite|pretty|because|wrong|missing|kidding|joking|broken|"
    r"something|nice|hard|great|amazing|awesome|incredible|tough|fun|rewarding|exciting|cool|lovely|wonderful|proud|"
    r"flaky|buggy|faulty|stale|outdated|corrupt(?:ed)?|confused|misconfigured|mistaken|stuck|dead|lost|asleep|"
    r"cursed|overloaded|slow|out of (?:sync|date|memory|order)|happy|sad|tired|exhausted|thrilled|difficult|"
    r"beautiful|nuts|crazy|fulfilling|\w+ing))\b"
)
_PART: Final = (
    r"(?:prs?|pull requests?|commits?|branch(?:es)?|endpoints?|apis?|requests?|quer(?:y|ies)|migrations?|tests?|"
    r"timestamps?|dates?|secrets?|deploys?|deployments?|releases?|services?|modules?|files?|configs?|images?|"
    r"containers?|tables?|columns?|functions?|logs?|errors?|changes?|invoices?|data|jobs?|builds?|tickets?|"
    r"contracts?|emails?)"
)

LESSONS: Final[Table] = rows(
    Kind.LESSON,
    "lesson|learn|gotcha|takeaway|pitfall|note to self|rule of thumb|turn|root cause|culprit|after |before |when",
    (
        CHOICE,
        (
            r"\blessons? learn(?:ed|t)\b|^(?:lesson|gotcha|takeaway|pitfall|note to self|rule of thumb)\s*[:—-]|"
            r"\blearn(?:ed|t) (?:the hard way|(?:today |the )?that)\b"
        ),
        ANY_PROJECT,
    ),
    (
        CHOICE,
        (
            r"\b(?:it )?turn(?:s|ed) out\b[^.]*\b(?:caused by|because|needs?|has to|have to|must|doesn'?t|"
            r"only (?:works?|when)|bug|leak|race|limits?|timeouts?|breaks?|fails?|ignores?|silently|by default|"
            r"requires?|depends on)\b|\bthe (?:root cause|culprit) (?:was|is|turned out)\b"
        ),
        ANY_PROJECT,
    ),
    (
        CHOICE,
        (
            r"^(?:after|before|when(?:ever)?) (?:you |we )?(?:chang|upgrad|modify|edit|restart|deploy|migrat|touch|"
            r"bump|releas|merg)\w*[^.]{3,60}?,? (?:always |you (?:need|have) to |make sure |remember to |"
            r"be sure to )?(?:check|verify|make sure|restart|rerun|re-run|confirm|test|clear)\b"
        ),
        ANY_PROJECT,
    ),
)

DECISIONS: Final[Table] = rows(
    Kind.DECISION,
    "deci|agreed|settled|cho|picked|opted|went with|going with|standardi|sticking|dropping|signed off|final call|"
    "switching|moving|migrating",
    (
        CHOICE,
        (
            rf"(?:\bwe(?:'ve|’ve| have)?|\b(?:the|our) team(?: has)?) {_SOFTLY}(?:decided{_OUTING}|"
            r"agreed (?:(?:in|at|during|with) [^,.;]{2,40}? )?(?:on|to|that|we)\b|settled on|chose|chosen|picked|"
            r"opted (?:for|to)|went with|are going with|"
            rf"signed off on)\b(?! (?:that )?(?:you|he|she|they|it|them)\b){_ONE_TOOL})?{_WHERE}"
        ),
        ("{s}", "{tool}"),
    ),
    (
        CHOICE,
        (
            rf"(?-i:\bI)(?:'ve|’ve| have)? {_SOFTLY}(?:decided{_OUTING} (?:to|on|that|against)|settled on|"
            rf"opted (?:for|to))\b(?! (?:it|this|that)\b)"
        ),
        SPEAKER,
    ),
    (
        CHOICE,
        (
            rf"(?:^|\bwe)(?:'re| are) (?:going with|standardi[sz]ing on|sticking with|dropping)\b(?! (?:it|this|"
            rf"that)\b){_ONE_TOOL})?{_WHERE}"
        ),
        ("{s}", "{tool}"),
    ),
    (
        CHOICE,
        (
            r"^(?:team |final |the |our )*decision\s*(?::|is\b|was\b)|\b(?:it'?s|it was|has been|have been|"
            r"was) decided (?:that|to)\b|\bfinal call:"
        ),
        ANY_PROJECT,
    ),
    (
        CHOICE,
        (
            rf"\bwe(?:'re| are| will be|'ll be) (?:switching|moving|migrating)(?: (?:everything|"
            rf"all [\w ]+))?(?: from [\w. ]+)? to (?P<tool>{TOOL}){_WHERE}"
        ),
        ("{s}", "{tool}"),
        True,
    ),
)

INSTRUCTIONS: Final[Table] = rows(
    Kind.INSTRUCTION,
    " in |this |our |my |when i say|from now|going forward|from here|future|hencefor|from today|always|never|"
    "don't|dont |"
    "do not|call me|every time|whenever|each time|answer|repl|respon|explan|code |everything you|emails you|summar|"
    "commit mess",
    (
        CORE,
        r"^(?:you can |just |always |from now on,? )*call me (?-i:[A-Z][\w-]+)(?! (?:back|later|when|if|at|a)\b)",
        ("user", "form of address"),
    ),
    (
        RULE,
        (
            r"^(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|henceforth|"
            r"from today(?: on)?),? "
            rf"(?:please |you (?:should|must|can) |always |never |only |don'?t |do not |no need to )*(?:{_ORDERS}|"
            rf"{_ACTS}|no)\b"
        ),
        SPEAKER,
    ),
    (
        RULE,
        rf"^(?:please )?{_ORDERS}\b.*\b(?:from now on|going forward|from here on(?: out)?|in (?:the )?future)\b",
        SPEAKER,
    ),
    (RULE, rf"^always {_ORDERS} (?!it\b|this\b|that\b)\w+", SPEAKER),
    (
        RULE,
        rf"^(?:every time|whenever|each time) you [^.]*?, *(?:please |always |never |don'?t )*(?:{_ORDERS}|{_ACTS})\b",
        SPEAKER,
    ),
    (
        RULE,
        (
            r"^(?:use|write|keep|format|put|start|give|avoid|do not use|don'?t use|never use|"
            r"make)\b[^.]*?\b(?:in (?:all )?(?:your )?|your |for all )?"
            rf"{_STYLE}\b(?: for me)?(?! (?:this|to this|above))"
        ),
        SPEAKER,
    ),
    (
        RULE,
        (
            r"^(?:use|write|prefer|avoid|follow|stick to|name|put|keep|don'?t use|do not use)\b[^.]*\b(?:in|for|"
            r"across) (?:(?:this|the|our) (?:repo(?:sitory)?|project|codebase|code base|team)|my (?:code|projects|"
            r"repos?))\b"
        ),
        SPEAKER,
    ),
    (
        RULE,
        (
            r"^(?:don'?t use|do not use|never use|avoid(?: using)?|no) [\w -]{3,30} in "
            r"(?:my |our |all |any )?(?!the\b|this\b|that\b)[\w+#]* ?(?:code|files?|tests|comments|docs|commits|prs)\b"
        ),
        SPEAKER,
    ),
    (RULE, r"^when I say\b.*\bI mean\b", SPEAKER),
    (
        RULE,
        (
            r"^(?:never|do not ever|don'?t ever) (?:use|call me|add|include|start|apologi[sz]e|ask me|send me|"
            r"give me|write)\b (?!it\b|this\b|that\b)[^.]+"
        ),
        SPEAKER,
    ),
)

CONSTRAINTS: Final[Table] = rows(
    Kind.CONSTRAINT,
    "never|don't|dont |do not|under no|must|allowed|permitted|forbidden|prohibited|limits|banned|frozen|freeze|"
    "locked|has to|have to|need to|needs to|required|obliged|bound|may not|can't|cannot|no body|nobody|no-one|"
    "no one|none|no |only |policy|rule|should|all |every|each |any ",
    (
        ABSOLUTE,
        rf"^(?:never|don'?t ever|do not ever|under no circumstances) {_ACTS} {_NO_ONE}[^,.;]{{2,60}}",
        ANY_PROJECT,
    ),
    (RULE, rf"^(?:do not|don'?t) (?P<a>{_ACTS})(?: (?P<s>{_NO_ONE}[^,.;]{{2,40}}?))??(?= ?{_GROUND})", ("{s}", "{a}")),
    (ABSOLUTE, rf"^{_LEAD_IN}{_THING} must(?: not|n't| never| always| only)? (?!{_GUESS})\w+", ("{s}", "")),
    (
        ABSOLUTE,
        (
            rf"^{_LEAD_IN}{_THING} (?:is|are) (?:strictly |absolutely )?(?:not allowed|not permitted|forbidden|"
            rf"prohibited|off[- ]limits|banned|frozen|"
            r"locked down|under (?:a )?code freeze)\b"
        ),
        ("{s}", ""),
    ),
    (
        RULE,
        (
            r"\b(?P<s>(?:the |that |this |our )[\w/.-]+(?: [\w/.-]+){0,2}) (?:has|have|needs?) to (?:stay|remain|"
            r"keep|be kept|be preserved)\b"
        ),
        ("{s}", ""),
    ),
    (
        RULE,
        (
            r"\bwe(?:'re| are) (?:not allowed|required|obliged|contractually bound) to\b|\bwe (?:must|mustn't|"
            r"must not|may not) (?!have\b|be\b|admit\b)\w+|\bwe (?:have to|can'?t|cannot) (?:use|store|send|ship|"
            r"deploy|upgrade|change|touch|log|share|support|comply|keep|break|drop|expose)\b(?! it\b)"
        ),
        ANY_PROJECT,
    ),
    (RULE, rf"^{_LEAD_IN}(?:no ?body|no[- ]one|none of us) (?:may|should|is allowed to|must) {_ACTS}\b", ANY_PROJECT),
    (
        RULE,
        (
            r"^no [\w -]{3,40} (?:before|after|on|during) [\w: -]+ for me\b|^(?:no|"
            r"only) [\w -]{3,60} (?:in production|on main|on fridays?|allowed|without (?:approval|review|a ticket|"
            r"asking)|may \w+|can "
            rf"{_ACTS})\b|^(?:all|every|each|any) (?:[\w-]+ )?{_PART} (?:should|needs? to|has to|have to|"
            rf"goes? through)\b"
        ),
        ANY_PROJECT,
    ),
    (
        RULE,
        (
            r"^(?P<s>(?:our|the) [\w -]{3,40}?) (?:can'?t|cannot|shouldn'?t|should not) be \w+(?:ed|en)\b"
            r"[^.]*\b(?:because|since|as|until|yet)\b"
        ),
        ("{s}", ""),
    ),
    (RULE, r"^(?P<s>(?:rule|policy) [\w-]+) (?:blocks|forbids|requires|allows|prohibits) [^,.;]+", ("{s}", "")),
    (
        RULE,
        r"\b(?:company|team|security|legal|house) (?:policy|rule)\s*(?::|is\b|says\b|forbids\b|requires\b)",
        ANY_PROJECT,
    ),
)

LIFTED: Final[Table] = rows(
    Kind.FACT,
    r"can now|may now",
    (ORDINARY, rf"^(?:you|we) (?:can|may) now (?P<a>{_ACTS}) (?P<s>[^,.;]{{2,40}})", ("{s}", "{a}"), True),
)

TABLES: Final = (LESSONS, INSTRUCTIONS, DECISIONS, CONSTRAINTS, LIFTED)
