import type { SourceFile } from "./source-files.ts";

/** What each product of `src` consists of; a file belongs to the first one that matches its path. */
const products: readonly (readonly [name: string, paths: RegExp])[] = [
  ["client", /^(cli|client)\//],
  ["certificates", /^certificates\/|^domain\/certificates\/|^tokens\/(certificate|server-cert)/],
  [
    "connected clusters",
    /^domain\/outbox\/|^controllers\/(kinds\/)?(run-)?(cluster|outbox|observe-outbox|heartbeat)/,
  ],
  [
    "direct tokens",
    new RegExp(
      [
        "^domain/endpoint-token/|^published/|^api/endpoint-token|^webhooks/assemble-direct",
        "^controllers/(issuer|revocations|served-|token-quota|published-kinds|list-polls)",
        "^controllers/kinds/(endpoint-token|revoked-tokens|signing-keys)",
        "^tokens/(direct-token|revoked-list|roles-list|signed-list|signing-keys|verif|recent|compact|es256)",
      ].join("|"),
    ),
  ],
  [
    "access keys and scope",
    new RegExp(
      [
        "^domain/(access-key|oidc|scope|grants|requester|policies|webhook)/|^policies/|^authn/|^webhooks/",
        "^controllers/(grants|policy-report|central-enqueuer)",
        "^controllers/kinds/(owned-access-key|grant-role|requester-grant|connector-data)",
        "^tokens/(access-key|admitted-key|connector-data|oidc-)",
        "^api/(owned-access-key|scope|requester|access-review|token-review|admission-review)",
      ].join("|"),
    ),
  ],
  [
    "gateway and servers",
    new RegExp(
      [
        "^gateway/|^domain/gateway/|^kube/forward/|^tokens/cluster-credential|^api/bounded-json",
        "^runtime/(http|server|fair-shares|unread|peer|body|read-body|byte|routes|time-share)",
        "^runtime/(items-by-owner|connection-pool)",
      ].join("|"),
    ),
  ],
  [
    "sync",
    new RegExp(
      [
        "^domain/(sync|shared-secret)/|^tokens/(observed-data|data-digest|shared-values)",
        "^controllers/kinds/(copy|source|shared-secret|derived-objects|namespace)",
        "^controllers/(count-targets|source-data|refreshes|enqueuer|sync-)",
        "^api/(shared-secret|secret|data-key|role)",
      ].join("|"),
    ),
  ],
  ["kube", /^kube\//],
  ["engine", /^controllers\/|^domain\//],
  ["process", /^runtime\/|^main/],
  ["names and parsing", /^api\/|^tokens\//],
];

/** The product of a file of `src`; undefined if no row has it. */
export function productOf(path: string): string | undefined {
  return products.find(([, paths]) => paths.test(path))?.[0];
}

/** The lines of each product, in the order of the table. */
export function linesOfProducts(files: readonly SourceFile[]): ReadonlyMap<string, number> {
  return new Map(
    products.map(([name]) => {
      const own = files.filter(({ path }) => productOf(path) === name);
      return [name, own.reduce((sum, { text }) => sum + text.trimEnd().split("\n").length, 0)];
    }),
  );
}

/** The budgets in the table of CONTRIBUTING.md, in lines. */
export function budgetsIn(page: string): ReadonlyMap<string, number> {
  const [, section = ""] = page.split("### What each product may cost\n");
  const [table = ""] = section.split("\n## ");
  return new Map(
    table
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .slice(2)
      .map((line) => line.split("|").map((cell) => cell.trim()))
      .map(([, product = "", , , budget = ""]) => [product, Number(budget.replaceAll(",", ""))]),
  );
}
