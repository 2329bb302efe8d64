import type { Certificates } from "../certificates/certificates.ts";
import type { IsHiddenSegment, Route } from "../runtime/routes.ts";
import type { ProcessPart } from "../runtime/run-process.ts";

/** A process that answers reviews, with its clients for the API server, without its servers. */
export interface WebhookAssembly {
  /** Routes for requests of kube-apiserver. */
  readonly routes: readonly Route[];
  /** Whether this is the first path segment of the admission routes. */
  readonly isAdmissionSegment: IsHiddenSegment;
  /** The informers and what else decides about reviews, and their connections. */
  readonly parts: readonly ProcessPart[];
  /** Those that Latchkey makes. */
  readonly certificates: Certificates;
}
