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
<noscript><p class="note">This page needs JavaScript. kubectl latchkey status prints the same.</p></noscript>
<main>
<ul id="cards" aria-label="Summary"></ul>
<section aria-labelledby="sources-title">
<div class="bar"><h2 id="sources-title">SharedSecrets</h2>
<label class="filter">Filter <input id="filter" type="search" autocomplete="off" spellcheck="false"></label>
<label class="filter"><input id="only" type="checkbox"> Only what is not ready</label></div>
<ul id="sources" class="list"></ul>
</section>
<section aria-labelledby="keys-title">
<h2 id="keys-title">Access keys that expire soon or are not ready</h2>
<ul id="keys" class="list"></ul>
</section>
<section aria-labelledby="tokens-title">
<h2 id="tokens-title">Direct tokens</h2>
<ul id="tokens" class="list"></ul>
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
export const pageIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="5.5" cy="8" r="3.2" fill="none" stroke="#2f7d5b" stroke-width="2"/><path d="M8.7 8H15M12.5 8v3" fill="none" stroke="#2f7d5b" stroke-width="2"/></svg>
`;
