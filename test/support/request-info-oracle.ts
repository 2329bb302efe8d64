import { join } from "node:path";
import { buildModule, type GoModule } from "./go-module.ts";
import { startLineProgram } from "./line-program.ts";

/** A request as kube-apiserver receives it. */
export interface SentRequest {
  readonly method: string;
  readonly target: string;
}

/** Reads requests as kube-apiserver does (k8s.io/apiserver, RequestInfoFactory). */
export interface RequestInfoOracle {
  /**
   * The RequestInfo of each request, in the form of a ReviewedRequest; an object with `error` if
   * kube-apiserver rejects it.
   */
  ask(requests: readonly SentRequest[]): Promise<readonly unknown[]>;
  stop(): void;
}

/** The program behind the oracle. */
export const oracleModule: GoModule = {
  directory: join(import.meta.dirname, "oracle"),
  name: "request info oracle",
  takes: "1 minute",
  packages: ".",
};

/** Starts the oracle, and builds it if necessary. */
export async function startRequestInfoOracle(
  report: (line: string) => void,
): Promise<RequestInfoOracle> {
  const programs = await buildModule(oracleModule, { report });
  return startLineProgram([join(programs, "oracle")]);
}
