"""Whom a draft is about, and which property: the pair that decides what a correction replaces.

Well-known tools give their category as the property, so that "we moved to MySQL" replaces "our
database is Postgres".  A tool with two roles has no category: an empty property never replaces.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Names that are also everyday words ("go", "edge") count only with their capital.
_TOOLS: Final = {
    "editor": (
        "vim|neovim|nvim|emacs|vs ?code|visual studio code|zed|sublime(?: text)?|helix|intellij(?: idea)?|pycharm|"
        "webstorm|"
        r"goland|xcode|android studio|notepad\+\+|windsurf|(?-i:Cursor|IDEA|Rider|Nano|Fleet)"
    ),
    "database": (
        r"postgres(?:ql)?|mysql|mariadb|sqlite|oracle(?: \d+\w?)?|sql ?server|mongo(?:db)?|cockroachdb|tidb|"
        r"dynamodb|"
        "cassandra|clickhouse|duckdb|firestore|oceanbase|达梦"
    ),
    "message queue": "kafka|rabbitmq|pulsar|rocketmq|nats|sqs|activemq",
    "cache": "redis|valkey|memcached|dragonfly",
    "search engine": "elasticsearch|opensearch|solr|meilisearch|typesense|(?-i:ES)",
    "language": (
        r"typescript|javascript|python(?: ?\d[\d.]*)?|golang|rust|java|kotlin|scala|c\+\+|c#|ruby|php|elixir|erlang|"
        "haskell|clojure|zig|(?-i:Go|Swift|Dart)"
    ),
    "frontend framework": r"react(?: \d+)?|vue(?: ?\d)?|svelte(?:kit)?|angular|solidjs|next\.?js|nuxt|astro",
    "framework": "django|flask|fastapi|rails|laravel|spring(?: boot)?|nestjs|actix|axum|(?-i:Express|Gin|Phoenix)",
    "package manager": "pnpm|npm|yarn|bun|poetry|uv|pdm|pipenv|conda|cargo|maven|gradle",
    "ci": "jenkins|github actions|gitlab ci|circleci|travis(?: ci)?|buildkite|teamcity|azure pipelines|(?-i:Drone)",
    "container runtime": "docker(?: desktop)?|podman(?: desktop)?|orbstack|colima|rancher desktop",
    "operating system": (
        r"linux|ubuntu(?: [\d.]+)?|debian|fedora|arch(?: linux)?|nixos|windows(?: \d+)?|macos|mac os|freebsd"
    ),
    "shell": "zsh|bash|fish shell|nushell|powershell|(?-i:Fish)",
    "cloud": (
        r"aws|azure|gcp|google cloud|阿里云|腾讯云|华为云|hetzner|digitalocean|fly\.io|vercel|netlify|cloudflare"
    ),
    "orchestration": "kubernetes|k8s|k3s|nomad|docker swarm|ecs",
    "infrastructure code": "terraform|pulumi|opentofu|ansible|cloudformation",
    "browser": "chrome|firefox|safari|vivaldi|(?-i:Edge|Arc|Brave)",
    "chat app": "slack|ms teams|discord|telegram|飞书|钉钉|企业微信|(?-i:Teams)",
    "notes app": "notion|obsidian|logseq|evernote|语雀|印象笔记",
}
TOOL: Final = "(?:(?<![A-Za-z0-9_-])(?:" + "|".join(_TOOLS.values()) + ")(?![A-Za-z0-9_-]))"
_CATEGORY: Final = tuple((name, re.compile(rows, re.IGNORECASE)) for name, rows in _TOOLS.items())

_REPLY_LANGUAGE: Final = re.compile(
    r"(?:[用以说讲改成换]|使用)[^，。]{0,3}(?:中文|英文|英语|日语|日文|法语|德语|汉语|粤语|普通话|"
    r"西班牙语)[^，。]{0,3}(?:回答|回复|答复|交流|沟通|跟我|和我|对话|输出|说)|(?:回答|回复|答复|跟我说|"
    r"和我)[^，。]{0,6}(?:[用以说讲改成换]|使用)[^，。]{0,3}(?:中文|英文|英语|日语|日文|法语|德语|汉语|粤语|普通话|"
    r"西班牙语)|\b(?:answer|reply|respond|talk|speak|write)\b[\w ,]{0,20}\bin (?:simplified |traditional |british |"
    r"american |plain )?(?:english|chinese|german|french|spanish|japanese|italian|dutch|portuguese|korean|mandarin|"
    r"cantonese|russian)\b|\b(?:answers|replies|responses)\b[\w ,]{0,12}\bin (?:simplified |"
    r"traditional )?(?:english|chinese|german|french|spanish|japanese|italian|dutch|portuguese|korean|mandarin|"
    r"cantonese|russian)\b",
    re.IGNORECASE,
)
_ARTICLE: Final = re.compile(
    r"^(?:(?:(?:so|and|but|then) )?(?:the|a|an|our|my|this|that|all|any|every|each)\s+|这个?|那个?|我们的?|咱们的?|"
    r"我的|所有的?|任何)",
    re.IGNORECASE,
)
_LOOSE: Final = re.compile(r"(?<=[\u4e00-\u9fff])的(?=[\u4e00-\u9fff])|\s+(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])\s+")
_TAIL: Final = re.compile(
    r"(?:\s+(?:any ?more|any longer|now|at all|so much|very much|a lot|these days|honestly)|了|的)+$", re.IGNORECASE
)


# One property, one name, whichever language it was said in.
_SAME: Final = {
    **dict.fromkeys(("项目", "本项目", "公司", "团队", "仓库", "repo", "repository", "codebase", "代码库"), "project"),
    **dict.fromkeys(("后端", "服务端", "server side"), "backend"),
    **dict.fromkeys(("前端", "客户端", "client side"), "frontend"),
    **dict.fromkeys(("数据库", "主库", "db", "main database", "primary database"), "database"),
    **dict.fromkeys(("包管理器",), "package manager"),
    **dict.fromkeys(("默认分支", "主分支", "main branch", "default branch"), "default branch"),
    **dict.fromkeys(("端口", "端口号"), "port"),
    **dict.fromkeys(("时区", "time zone"), "timezone"),
    **dict.fromkeys(("语言", "主语言", "main language"), "language"),
    **dict.fromkeys(("缓存",), "cache"),
    **dict.fromkeys(("消息队列", "queue", "message broker"), "message queue"),
    **dict.fromkeys(("版本", "版本号"), "version"),
    **dict.fromkeys(("框架",), "framework"),
    **dict.fromkeys(("域名",), "domain"),
    **dict.fromkeys(("操作系统", "os"), "operating system"),
    **dict.fromkeys(("生日",), "birthday"),
    **dict.fromkeys(("母语", "mother tongue"), "native language"),
}
PEOPLE_CN: Final = (
    "(?:大|小|二)?(?:女儿|儿子|老婆|妻子|爱人|老公|丈夫|妈妈?|母亲|爸爸?|父亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|姐姐?|"
    "妹妹?|哥哥?|弟弟?|孩子|宝宝|对象|女朋友|男朋友|岳父|岳母|叔叔|婶婶|舅舅|舅妈|阿姨|姑姑|姨妈|表[哥姐弟妹]|"
    "堂[哥姐弟妹]|侄子|侄女|外甥女?|同事|上司|老板|领导|下属|朋友|同学|室友|邻居|老师|导师|客户)"
)
PEOPLE_EN: Final = (
    "(?:older |younger |elder |little |big |ex[- ])?(?:daughter|son|wife|husband|partner|girlfriend|boyfriend|"
    "mother|mom|mum|father|dad|sister|brother|grandmother|grandfather|grandma|grandpa|kids?|baby|dog|cat|twins?|"
    "uncle|aunt|cousin|nephew|niece|boss|manager|colleague|coworker|friend|roommate|neighbou?r|teacher|client)"
)
_LONGEST: Final = 40  # a longer property is a clause: two of them are never the same


def category(tool: str) -> str:
    """Return what a well-known tool is ("database"), or nothing for an unknown one."""
    found = [name for name, rows in _CATEGORY if rows.fullmatch(tool.strip())]
    return found[0] if len(found) == 1 else ""


def plain(words: str) -> str:
    """Return a subject or property in the form that compares: no article, no 的, lower case."""
    text = unicodedata.normalize("NFKC", words).strip(" \t,，.。:：;；!！\"'“”「」").casefold()
    text = " ".join(_LOOSE.sub("", _ARTICLE.sub("", _TAIL.sub("", text))).split())
    return _SAME.get(text, text) if len(text.encode()) <= _LONGEST else ""


def names_reply_language(text: str) -> bool:
    """Say whether a sentence fixes the language in which the assistant should answer."""
    return _REPLY_LANGUAGE.search(text) is not None
