/**
 * Every metric except those of the process; names as in controller-runtime and client-go where they
 * have one.
 */
export const metricTable = {
  reconciles: {
    name: "controller_runtime_reconcile_total",
    help: "Reconciles by controller and result.",
    labelNames: ["controller", "result"],
  },
  reconcileSeconds: {
    name: "controller_runtime_reconcile_time_seconds",
    help: "Duration of a reconcile in seconds.",
    labelNames: ["controller"],
  },
  reconcileErrors: {
    name: "controller_runtime_reconcile_errors_total",
    help: "Reconciles that failed and are requeued.",
    labelNames: ["controller"],
  },
  reconcileBugs: {
    name: "latchkey_reconcile_unexpected_errors_total",
    help: "Reconciles that failed with an unexpected error, which is a bug.",
    labelNames: ["controller"],
  },
  queueDepth: {
    name: "workqueue_depth",
    help: "Items in the queue.",
    labelNames: ["name"],
  },
  queueAdds: {
    name: "workqueue_adds_total",
    help: "Items added to the queue.",
    labelNames: ["name"],
  },
  queueRetries: {
    name: "workqueue_retries_total",
    help: "Items added to the queue again after a failure.",
    labelNames: ["name"],
  },
  requests: {
    name: "rest_client_requests_total",
    help: "Requests to the API server; code is <error> when there was no response.",
    labelNames: ["code", "method", "host"],
  },
  requestLimit: {
    name: "latchkey_request_concurrency_limit",
    help: "Maximum number of concurrent requests to the API server; below --write-concurrency after responses with status 429.",
    labelNames: ["pool"],
  },
  reviews: {
    name: "latchkey_reviews_total",
    help: "Reviews from kube-apiserver by kind (token, access, admission) and result; malformed: the token is not an access key; invalid: the extras of the user are not those of a valid key or token.",
    labelNames: ["kind", "result"],
  },
  reviewSeconds: {
    name: "latchkey_review_duration_seconds",
    help: "Duration of a review from kube-apiserver in seconds.",
    labelNames: ["kind"],
  },
  certificateEnd: {
    name: "latchkey_certificate_expiry_timestamp_seconds",
    help: "Expiry time of a certificate of the webhook or the gateway in seconds since the epoch; it is renewed when a third of its validity remains.",
    labelNames: ["certificate"],
  },
  certificateProblem: {
    name: "latchkey_certificate_problem",
    help: "1 while there is a problem with the certificates of the webhook or the gateway, else 0. Problems: ca-changed (kube-apiserver has not presented a client certificate of the current CA; clients of the gateway may trust the former CA), secret-missing and secret-unreadable (the process serves with the certificates in its memory).",
    labelNames: ["problem"],
  },
  objects: {
    name: "latchkey_objects",
    help: "Objects by kind and by status and reason of a condition (Ready, and Synced of SharedSecrets); status is Unknown before the first reconcile. Every replica of the controller counts all of them.",
    labelNames: ["kind", "condition", "status", "reason"],
  },
  syncTargets: {
    name: "latchkey_sync_targets",
    help: "Targets of SharedSecrets by state: synced, conflict (a Secret that is not managed by Latchkey), failed (a rejected write) and pending. Every replica of the controller counts all of them.",
    labelNames: ["state"],
  },
  revokedTokens: {
    name: "latchkey_revoked_tokens",
    help: "Direct tokens in the list of revoked tokens that this replica serves.",
    labelNames: [],
  },
  revokedPolls: {
    name: "latchkey_revoked_polls",
    help: "Requests that wait for a newer list of revoked tokens; at most 1,000.",
    labelNames: [],
  },
  watchOpened: {
    name: "latchkey_watch_opened_timestamp_seconds",
    help: "Time when the API server last opened a watch of a resource, in seconds since the epoch; 0 if never.",
    labelNames: ["resource"],
  },
  cacheFresh: {
    name: "latchkey_cache_fresh",
    help: "1 while the cache of access keys is at most 30 seconds old, else 0; at 0 the webhook or the gateway accepts no access key.",
    labelNames: ["cache"],
  },
  httpRefusals: {
    name: "latchkey_http_refusals_total",
    help: "Connections and requests that a server refused, by server (http, webhook, issuer; gateway, also of a direct endpoint) and reason: connection (closed for a new one), too-large, too-slow and overloaded (request body).",
    labelNames: ["server", "reason"],
  },
  gatewayRequests: {
    name: "latchkey_gateway_requests_total",
    help: "Requests that the gateway forwarded and that ended, by verb and HTTP status code of the response, which is the gateway's own if the API server gave none; <none>: the client closed the connection before the response.",
    labelNames: ["verb", "code"],
  },
  gatewayRefusals: {
    name: "latchkey_gateway_refusals_total",
    help: "Requests that the gateway refused before it forwarded them, by reason and HTTP status code.",
    labelNames: ["reason", "code"],
  },
  gatewayAuthentications: {
    name: "latchkey_gateway_authentications_total",
    help: "Authentications of clients of the gateway by result; malformed: the token is not an access key.",
    labelNames: ["result"],
  },
  gatewayOverhead: {
    name: "latchkey_gateway_overhead_seconds",
    help: "Time from the head of a request until the gateway has decided to forward it, in seconds.",
    labelNames: [],
  },
  gatewayCuts: {
    name: "latchkey_gateway_cuts_total",
    help: "Requests in progress that the gateway ended, by reason: denied (the key is not accepted, or its scope does not allow the request), not-ready (the access key cache is older than 30 seconds) and displaced (the replica is full, and the user of the request has the most of them).",
    labelNames: ["reason"],
  },
  gatewayLive: {
    name: "latchkey_gateway_live",
    help: "Requests in progress by kind: answer, stream (watches, followed logs and proxied responses) and upgrade (exec, attach and port-forward).",
    labelNames: ["kind"],
  },
  revokedListRefusals: {
    name: "latchkey_revoked_list_refusals_total",
    help: "Lists of revoked tokens of the issuer that a direct endpoint or direct authorizer refused, by reason; older: the list is older than the list in use.",
    labelNames: ["reason"],
  },
  revokedListConfirmed: {
    name: "latchkey_revoked_list_confirmed_timestamp_seconds",
    help: "Time when the issuer last confirmed the list of revoked tokens, in seconds since the epoch; after a restart, when the kept list was signed; 0 if no list is known.",
    labelNames: [],
  },
  leading: {
    name: "leader_election_master_status",
    help: "1 while this process holds the Lease, else 0.",
    labelNames: ["name"],
  },
} as const;
