import { devPaths } from "./dev-directory.ts";

/**
 * The output of `make dev` when all samples are ready: commands to paste in this order, and where
 * to read on.
 */
export function devReport({ hasConnected }: { readonly hasConnected: boolean }): string {
  return `
Paste this into another shell:

  . ${devPaths.env}

and try:

  kubectl get sharedsecrets --all-namespaces
  kubectl latchkey status --all-namespaces
  kubectl latchkey why secret/database -n web-dev
${hasConnected ? "  kubectl --context connected get secrets --all-namespaces\n" : ""}
README.md shares a Secret in three commands; docs/tutorials has a page for each job, and
docs/README.md all pages.
`;
}
