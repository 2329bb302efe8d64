import { isRecord, parseConditions, recordAt } from "../../src/api/parse.ts";
import type { Answer } from "../support/cluster-connection.ts";

/** The parts of a status that walks use. */
export interface Report {
  /** Whether the status is of the current generation. */
  readonly isCurrent: boolean;
  readonly isReady: boolean;
  /** Whether existing copies are kept, as earlier states have left them. */
  readonly keepsCopies: boolean;
}

/** Reasons of Synced=False with which existing copies are kept. */
const keeping: readonly string[] = [
  "InvalidSyncOption",
  "InvalidKey",
  "TooLarge",
  "Paused",
  "Failed",
];

/** Reads the status of an object. */
export function reportOf({ metadata, status }: Pick<Answer, "metadata" | "status">): Report {
  const conditions = parseConditions(status);
  const failed = recordAt(status, "sync").failed;
  return {
    isCurrent: isRecord(status) && status.observedGeneration === metadata.generation,
    isReady: conditions.some(({ type, status: is }) => type === "Ready" && is === "True"),
    keepsCopies:
      (typeof failed === "number" && failed > 0) ||
      conditions.some(
        ({ type, status: is, reason }) =>
          type === "Synced" && is === "False" && keeping.includes(reason),
      ),
  };
}
