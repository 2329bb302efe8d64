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
  activeWorkers: {
    name: "controller_runtime_active_workers",
    help: "Reconciles in progress.",
    labelNames: ["controller"],
  },
  maximumReconciles: {
    name: "controller_runtime_max_concurrent_reconciles",
    help: "Maximum number of concurrent reconciles.",
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
  queueSeconds: {
    name: "workqueue_queue_duration_seconds",
    help: "Time that an item waits in the queue, in seconds.",
    labelNames: ["name"],
  },
  workSeconds: {
    name: "workqueue_work_duration_seconds",
    help: "Duration of the processing of an item in seconds.",
    labelNames: ["name"],
  },
  unfinishedSeconds: {
    name: "workqueue_unfinished_work_seconds",
    help: "Sum of the durations of the work in progress in seconds; a value that grows means stuck reconciles.",
    labelNames: ["name"],
  },
  longestSeconds: {
    name: "workqueue_longest_running_processor_seconds",
    help: "Duration of the longest work in progress in seconds.",
    labelNames: ["name"],
  },
  requests: {
    name: "rest_client_requests_total",
    help: "Requests to the API server; code is <error> when there was no response.",
    labelNames: ["code", "method", "host"],
  },
  requestSeconds: {
    name: "rest_client_request_duration_seconds",
    help: "Duration of a request to the API server in seconds, without the wait for its turn; watches and streamed lists are not counted.",
    labelNames: ["verb", "host"],
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
  webhookRequests: {
    name: "controller_runtime_webhook_requests_total",
    help: "Requests of kube-apiserver to the webhook by path, without the secret segment, and HTTP status code.",
    labelNames: ["webhook", "code"],
  },
  webhookSeconds: {
    name: "controller_runtime_webhook_latency_seconds",
    help: "Duration of a request of kube-apiserver in seconds.",
    labelNames: ["webhook"],
  },
  webhookInFlight: {
    name: "controller_runtime_webhook_requests_in_flight",
    help: "Requests of kube-apiserver in progress.",
    labelNames: ["webhook"],
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
    help: "Objects by kind and by status and reason of a condition (Ready, Expiring, and Synced of SharedSecrets); status is Unknown before the first reconcile. Every replica of the controller counts all of them.",
    labelNames: ["kind", "condition", "status", "reason"],
  },
  syncTargets: {
    name: "latchkey_sync_targets",
    help: "Targets of SharedSecrets by state: synced, conflict (a Secret that is not managed by Latchkey), failed (a rejected write) and pending. Every replica of the controller counts all of them.",
    labelNames: ["state"],
  },
  notReady: {
    name: "latchkey_object_not_ready",
    help: "1 for each object whose Ready, or Synced, is False for a reason that is not temporary, intended or Expired; for at most 100 objects, those that are not ready for longest.",
    labelNames: ["kind", "namespace", "name", "reason"],
  },
  notReadyOmitted: {
    name: "latchkey_objects_not_ready_omitted",
    help: "Objects that are not ready and have no series of latchkey_object_not_ready.",
    labelNames: [],
  },
  expiring: {
    name: "latchkey_objects_expiring",
    help: "Objects that have not expired and whose lifetime ends within 1d, 7d or 30d, to the hour; a longer time includes the shorter ones.",
    labelNames: ["kind", "within"],
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
  watchInterruptions: {
    name: "latchkey_watch_interruptions_total",
    help: "Lists and watches that failed, by resource and code; Unexpected is a bug.",
    labelNames: ["resource", "code"],
  },
  cacheObjects: {
    name: "latchkey_cache_objects",
    help: "Objects in the caches of the process by resource.",
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
  clusterReachable: {
    name: "latchkey_connected_cluster_reachable",
    help: "1 if the API server of a connected cluster accepts the credential of its kubeconfig, 0 if it does not, does not answer, or the kubeconfig is not usable; for at most 100 clusters, those at 0 first.",
    labelNames: ["cluster"],
  },
  clusters: {
    name: "latchkey_connected_clusters",
    help: "Connected clusters by state: reachable and unreachable.",
    labelNames: ["state"],
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
  buildInfo: {
    name: "latchkey_build_info",
    help: "1, with the version of Latchkey.",
    labelNames: ["version"],
  },
} as const;
