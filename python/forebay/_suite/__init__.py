"""Suites: published sets of tests for queue disciplines and congestion controls.

`forebay suite rfc7928` runs RFC 7928, sections 5 to 10, `rfc9743` RFC 9743, sections 5 to 7, and
`l4s` what RFC 9331 and RFC 9332 ask of queues and senders, as data by the sweep engine; `bbr` runs
the test cases of the BBR draft, and `attack` the worst cases that `forebay attack` found. The pages
`docs/suite-*.md` and `docs/attack.md` explain them.
"""
