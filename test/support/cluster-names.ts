/** Names that a cluster can have, and `<project>/<name>` of virtual clusters. */
export const clusterNames: readonly string[] = [
  "east",
  "e",
  "0",
  "eu-west.1",
  "direct",
  "web/dev",
  "web/east",
  "a".repeat(253),
  `${"a".repeat(253)}/${"b".repeat(253)}`,
];

/** Texts that no cluster can have as its name. */
export const noClusterNames: readonly string[] = [
  "",
  " ",
  "*",
  "East",
  "east ",
  "east\n",
  "-east",
  "east-",
  "east_1",
  "ést",
  "/",
  "/east",
  "east/",
  "web//dev",
  "web/dev/more",
  "web/*",
  "east,west",
  "a".repeat(254),
];
