/** The page of `status --serve`; its script fills it. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Latchkey status</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/status.css">
<script src="/status.js" defer></script>
</head>
<body>
<header>
<div><h1>Latchkey</h1><p id="title"></p></div>
<p id="updated" role="status">Reading ...</p>
</header>
<p id="problem" role="alert" hidden></p>
<noscript>
<p class="note">This page needs JavaScript. kubectl latchkey status prints the same.</p>
</noscript>
<main>
<ul id="cards" aria-label="Summary"></ul>
<section aria-labelledby="sources-title">
<div class="bar"><h2 id="sources-title">SharedSecrets</h2>
<label class="filter">Filter
<input id="filter" type="search" autocomplete="off" spellcheck="false"></label>
<label class="filter"><input id="only" type="checkbox"> Only what is not ready</label></div>
<ul id="sources" class="list"></ul>
</section>
<section id="keys-section" aria-labelledby="keys-title">
<h2 id="keys-title">Access keys that expire soon or are not ready</h2>
<ul id="keys" class="list"></ul>
</section>
<section id="tokens-section" aria-labelledby="tokens-title">
<h2 id="tokens-title">Direct tokens</h2>
<ul id="tokens" class="list"></ul>
</section>
<section id="clusters-section" aria-labelledby="clusters-title" hidden>
<h2 id="clusters-title">Connected clusters</h2>
<ul id="clusters" class="list"></ul>
</section>
<section id="policies-section" aria-labelledby="policies-title" hidden>
<h2 id="policies-title">Installation</h2>
<ul id="policies" class="notes"></ul>
</section>
<section id="hidden-section" aria-labelledby="hidden-title" hidden>
<h2 id="hidden-title">Not visible to you</h2>
<ul id="hidden" class="notes"></ul>
</section>
</main>
</body>
</html>
`;

/** The icon of the page. */
export const pageIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<circle cx="5.5" cy="8" r="3.2" fill="none" stroke="#2f7d5b" stroke-width="2"/>
<path d="M8.7 8H15M12.5 8v3" fill="none" stroke="#2f7d5b" stroke-width="2"/>
</svg>
`;

/** The style of the page: plain colors for light and dark, one column where it is narrow. */
export const pageStyle = `:root {
  color-scheme: light dark;
  --back: #f5f6f8; --panel: #fff; --line: #dfe3e8; --text: #1d2430; --faint: #5c6675;
  --good: #1f7a4d; --good-back: #e3f4ea; --bad: #b3261e; --bad-back: #fdeceb;
  --warn: #8a5a00; --warn-back: #fdf3dc; --focus: #1f5fbf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #12161c; --panel: #1a2028; --line: #2d3642; --text: #e6eaf0; --faint: #9aa5b4;
    --good: #6fd3a0; --good-back: #163526; --bad: #ff9b94; --bad-back: #40201e;
    --warn: #f0c36a; --warn-back: #3a2d10; --focus: #7fb0ff;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0 auto; max-width: 68rem; padding: 1.25rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere;
}
header {
  display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
  justify-content: space-between;
}
h1 { margin: 0; font-size: 1.35rem; letter-spacing: -.01em; }
h2 { margin: 0; font-size: 1rem; }
header p { margin: 0; color: var(--faint); font-size: .85rem; }
section { margin-top: 1.5rem; }
section > h2 { margin-bottom: .5rem; }
.bar { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; margin-bottom: .5rem; }
.bar h2 { flex: 1 1 10rem; }
.filter { color: var(--faint); font-size: .85rem; }
input[type=search] {
  font: inherit; width: 12rem; max-width: 60vw; padding: .2rem .5rem; color: inherit;
  background: var(--panel); border: 1px solid var(--line); border-radius: .4rem;
}
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
ul { list-style: none; margin: 0; padding: 0; }
#problem, .note {
  margin: .75rem 0 0; padding: .6rem .8rem; border-radius: .5rem;
  color: var(--bad); background: var(--bad-back);
}
#cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .75rem;
  margin-top: 1rem;
}
#cards li {
  padding: .7rem .9rem; background: var(--panel); border: 1px solid var(--line);
  border-radius: .6rem;
}
#cards b {
  display: block; font-size: 1.4rem; line-height: 1.25; font-variant-numeric: tabular-nums;
}
#cards span { color: var(--faint); font-size: .85rem; }
#cards .bad b { color: var(--bad); }
#cards .good b { color: var(--good); }
.list { background: var(--panel); border: 1px solid var(--line); border-radius: .6rem; }
.list > li + li { border-top: 1px solid var(--line); }
.list > li.row, summary {
  display: flex; flex-wrap: wrap; gap: .2rem .7rem; align-items: baseline;
  padding: .55rem .9rem;
}
.empty { padding: .55rem .9rem; color: var(--faint); }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "\\25b8"; color: var(--faint); width: .8rem; }
details[open] > summary::before { content: "\\25be"; }
.name { font-weight: 600; flex: 1 1 12rem; }
.display { font-weight: 400; color: var(--faint); }
.count { color: var(--faint); font-size: .85rem; font-variant-numeric: tabular-nums; }
.meter { flex: 0 0 5rem; align-self: center; height: .4rem; }
.meter rect { fill: var(--line); }
.meter .done { fill: var(--good); }
.bad .meter .done { fill: var(--bad); }
.badge {
  padding: 0 .5rem; border-radius: 1rem; font-size: .8rem; color: var(--good);
  background: var(--good-back);
}
.badge.bad { color: var(--bad); background: var(--bad-back); }
.badge.warn { color: var(--warn); background: var(--warn-back); }
.targets { margin: 0 0 .6rem 1.25rem; padding-left: .9rem; border-left: 1px solid var(--line); }
.targets li {
  display: flex; flex-wrap: wrap; gap: .1rem .7rem; align-items: baseline;
  padding: .2rem .9rem .2rem 0;
}
.text { flex: 1 1 100%; color: var(--faint); font-size: .88rem; margin: 0; }
.targets .where { flex: 0 1 auto; }
.notes li { color: var(--faint); font-size: .88rem; }
`;
