import type { ServerTls } from "../runtime/http-server.ts";
import type { GatewayHandler } from "./gateway-handler.ts";
import type { InFlightRequests } from "./in-flight-requests.ts";

/** A process that forwards requests, without its servers. */
export interface FrontAssembly {
  readonly handler: GatewayHandler;
  readonly inFlight: InFlightRequests;
  /** Why no request can be served, in one sentence each; empty if requests can. */
  problems(): readonly string[];
  /** What will stop it without action, in one sentence each. */
  warnings(): readonly string[];
  /** Sets the CA of the certificates that clients see (PEM). */
  useCa(ca: string): void;
  /** Follows what decides about requests until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Creates, renews and watches the certificates in Latchkey's own Secret. */
  keepCertificates(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void>;
  close(): Promise<void>;
}

/** Connections for requests of clients with a short answer. */
export const mostAnswers = 128;

/** Runs every part until the signal aborts. */
export async function runAll(
  parts: readonly { run(signal: AbortSignal): Promise<void> }[],
  { inFlight, signal }: { readonly inFlight: InFlightRequests; readonly signal: AbortSignal },
): Promise<void> {
  inFlight.watchFreshness(signal);
  await Promise.all(parts.map((part) => part.run(signal)));
}
