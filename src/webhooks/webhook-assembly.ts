import type { ServerTls } from "../runtime/http-server.ts";
import type { IsHiddenSegment, Route } from "../runtime/routes.ts";

/** A process that answers reviews, with its clients for the API server, without its servers. */
export interface WebhookAssembly {
  /** Routes for requests of kube-apiserver. */
  readonly routes: readonly Route[];
  /** Whether this is the first path segment of the admission routes. */
  readonly isAdmissionSegment: IsHiddenSegment;
  /** Runs the informers and what else decides about reviews until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Creates, renews and watches the certificates in Latchkey's own Secret, and publishes their CA;
   * calls `onTls` for each set of certificates.
   */
  keepCertificates(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void>;
  /** Why nothing can be decided, one sentence each; empty if reviews can be answered. */
  problems(): readonly string[];
  /** What will stop it without action, one sentence each. */
  warnings(): readonly string[];
  /** Closes every connection, including those with requests in flight. */
  close(): Promise<void>;
}
