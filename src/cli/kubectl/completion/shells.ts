/** The shells with a completion script; `kubectl` is that of kubectl's own completion. */
export const shells = ["kubectl", "bash", "zsh", "fish"] as const;

/** A shell of {@link shells}. */
export type Shell = (typeof shells)[number];
