/** A metric; `labels` are the names of its labels, in their order on the page. */
interface Declared<Type extends string, Label extends string> {
  readonly type: Type;
  readonly labels: readonly Label[];
  readonly help: string;
}

/** A histogram; `buckets` are their upper bounds in seconds. */
interface DeclaredHistogram<Label extends string> extends Declared<"histogram", Label> {
  readonly buckets: number[];
}

/** controller-runtime's buckets. */
const reconcileBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const queueBuckets = [0.001, 0.01, 0.1, 1, 10, 100, 1000];
/** Those of component-base. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const webhookBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1, 10];

/**
 * Every metric except those of the process, in the order of `/metrics`; names as in
 * controller-runtime and client-go where they have one.
 */
export const metricTable = {
  controller_runtime_reconcile_total: counter(
    ["controller", "result"],
    "Reconciles by controller and result (success, error, requeue_after).",
  ),
  controller_runtime_reconcile_time_seconds: histogram(
    ["controller"],
    reconcileBuckets,
    "Duration of a reconcile in seconds.",
  ),
  controller_runtime_reconcile_errors_total: counter(
    ["controller"],
    "Failed reconciles that are requeued, without problems that a user has to solve.",
  ),
  latchkey_reconcile_unexpected_errors_total: counter(
    ["controller"],
    "Reconciles that failed with an unexpected error, which is a bug.",
  ),
  controller_runtime_active_workers: gauge(["controller"], "Reconciles in progress."),
  controller_runtime_max_concurrent_reconciles: gauge(
    ["controller"],
    "Maximum number of concurrent reconciles.",
  ),
  workqueue_depth: gauge(["name"], "Items in the queue."),
  workqueue_adds_total: counter(["name"], "Items added to the queue."),
  workqueue_retries_total: counter(["name"], "Items added to the queue again after a failure."),
  workqueue_queue_duration_seconds: histogram(
    ["name"],
    queueBuckets,
    "Time that an item waits in the queue, in seconds.",
  ),
  workqueue_work_duration_seconds: histogram(
    ["name"],
    queueBuckets,
    "Duration of the processing of an item in seconds.",
  ),
  workqueue_unfinished_work_seconds: gauge(
    ["name"],
    "Sum of the durations of the work in progress; it grows when reconciles hang.",
  ),
  workqueue_longest_running_processor_seconds: gauge(
    ["name"],
    "Duration of the longest work in progress in seconds.",
  ),
  rest_client_requests_total: counter(
    ["code", "method", "host"],
    "Requests to the API server; code is <error> when there was no response.",
  ),
  rest_client_request_duration_seconds: histogram(
    ["verb", "host"],
    requestBuckets,
    "Duration of a request to the API server in seconds, without the wait for its turn; " +
      "watches and streamed lists are not counted.",
  ),
  latchkey_request_concurrency_limit: gauge(
    ["pool"],
    "Maximum number of concurrent requests to the API server by pool (copies, rest); below " +
      "--write-concurrency after responses with status 429.",
  ),
  leader_election_master_status: gauge(["name"], "1 while this process holds the Lease, else 0."),
  latchkey_reviews_total: counter(
    ["kind", "result"],
    "Reviews from kube-apiserver by kind and result. token: authenticated, refused (disabled, " +
      "expired ...), unknown, malformed (no access key), not-ready; access: no-opinion, denied, " +
      "invalid (the extras of the user are not those of a valid key or token), not-ready; " +
      "admission: allowed, changed, refused, failed.",
  ),
  controller_runtime_webhook_requests_total: counter(
    ["webhook", "code"],
    "Requests of kube-apiserver to the webhook by path, without the secret segment, and " +
      "HTTP status code.",
  ),
  controller_runtime_webhook_latency_seconds: histogram(
    ["webhook"],
    webhookBuckets,
    "Duration of a request of kube-apiserver in seconds.",
  ),
  controller_runtime_webhook_requests_in_flight: gauge(
    ["webhook"],
    "Requests of kube-apiserver in progress.",
  ),
  latchkey_certificate_expiry_timestamp_seconds: gauge(
    ["certificate"],
    "Expiry time of a certificate (ca, serving, client) of the webhook or the gateway in " +
      "seconds since the epoch; it is renewed when a third of its validity remains.",
  ),
  latchkey_certificate_problem: gauge(
    ["problem"],
    "1 while there is a problem with the certificates of the webhook or the gateway, else " +
      "0. Problems: ca-changed (kube-apiserver has not presented a client certificate of the " +
      "current CA; clients of the gateway may trust the former CA), secret-missing and " +
      "secret-unreadable (the process serves with the certificates in its memory).",
  ),
  latchkey_objects: gauge(
    ["kind", "condition", "status", "reason"],
    "Objects by kind and by status and reason of a condition (Ready, Expiring, and Synced " +
      "of SharedSecrets); status is Unknown before the first reconcile. Every replica of the " +
      "controller counts all of them. Every replica of the gateway counts, as kind Cluster, the " +
      "connected clusters whose credential is Expiring.",
  ),
  latchkey_sync_targets: gauge(
    ["state"],
    "Targets of SharedSecrets by state: synced, conflict (a Secret that is not managed by " +
      "Latchkey), failed (a rejected write), pending and unremoved (a former copy that cannot " +
      "be deleted). Every replica of the controller counts all of them.",
  ),
  latchkey_object_not_ready: gauge(
    ["kind", "namespace", "name", "reason"],
    "1 for each object whose Ready, or Synced, is False for a reason that is not temporary " +
      "(Progressing, WaitingForGrant, Terminating), intended (Paused, NoTargets) or Expired; " +
      "for at most 100 objects, those that are not ready for longest.",
  ),
  latchkey_objects_not_ready_omitted: gauge(
    [],
    "Objects that are not ready and have no series of latchkey_object_not_ready.",
  ),
  latchkey_objects_expiring: gauge(
    ["kind", "within"],
    "Objects that have not expired and whose lifetime ends within 1d, 7d or 30d, to the " +
      "hour; a longer time includes the shorter ones.",
  ),
  latchkey_revoked_tokens: gauge(
    [],
    "Direct tokens in the list of revoked tokens that this replica serves.",
  ),
  latchkey_revoked_polls: gauge(
    [],
    "Requests that wait for a newer list of revoked tokens; at most 1,000.",
  ),
  latchkey_roles_polls: gauge([], "Requests that wait for a newer list of roles; at most 1,000."),
  latchkey_published_roles: gauge(
    ["state"],
    "Roles of scopes by state: published in the list of roles, or too-large and left out of it.",
  ),
  latchkey_watch_opened_timestamp_seconds: gauge(
    ["resource"],
    "Time when the API server last opened a watch of a resource, in seconds since the epoch; " +
      "0 if never. Processes open each watch again every 20 to 35 s.",
  ),
  latchkey_watch_interruptions_total: counter(
    ["resource", "code"],
    "Lists and watches that failed, by resource and code (Network, ServerError, " +
      "TooManyRequests, Unauthorized, Forbidden, NotFound, Gone ...); Unexpected is a bug.",
  ),
  latchkey_cache_objects: gauge(["resource"], "Objects in the caches of the process by resource."),
  latchkey_cache_fresh: gauge(
    ["cache"],
    "1 while the cache of access keys is at most 30 s old, else 0: then no key is accepted.",
  ),
  latchkey_token_refusals_total: counter(
    ["reason"],
    "Tokens of configured issuers that their key did not accept, by reason (audience, " +
      "several-names, key, no-times, too-long, not-yet, expired, kid, signature, issuer-claim, " +
      "claim).",
  ),
  latchkey_token_issuers_refused: gauge(
    [],
    "1 while the text of the ConfigMap latchkey-issuers is refused, so that the former issuers " +
      "count, else 0.",
  ),
  latchkey_token_issuer_keys_timestamp_seconds: gauge(
    ["issuer"],
    "When the keys of an issuer were last read; 0 for never. After 24 hours its tokens are " +
      "refused.",
  ),
  latchkey_gateway_requests_total: counter(
    ["verb", "code"],
    "Forwarded requests that ended, by verb and HTTP status code of the response, which may " +
      "be the gateway's own; <none>: the client closed the connection before.",
  ),
  latchkey_gateway_refusals_total: counter(
    ["reason", "code"],
    "Requests that the gateway refused before it forwarded them, by HTTP status code and " +
      "reason: malformed, method, unauthenticated, impersonation, identity, scope, not-found, " +
      "limit, not-ready.",
  ),
  latchkey_gateway_authentications_total: counter(
    ["result"],
    "Authentications of clients of the gateway by result, as latchkey_reviews_total for " +
      "kind token; at a direct endpoint authenticated, revoked, expired, not-yet-valid, " +
      "unknown-kid, signature, issuer, audience, claims, scope, system-name, or what is not a " +
      "direct token: oversized, malformed, algorithm, type, header.",
  ),
  latchkey_gateway_overhead_seconds: histogram(
    [],
    webhookBuckets,
    "Time from the head of a request until the gateway has decided to forward it, in seconds.",
  ),
  latchkey_gateway_cuts_total: counter(
    ["reason"],
    "Requests in progress that the gateway ended, by reason: denied (the key or its scope " +
      "does not allow the request), not-ready (the access key cache is older than 30 seconds) " +
      "and displaced (the replica is full, and the user has the most requests).",
  ),
  latchkey_gateway_live: gauge(
    ["kind"],
    "Requests in progress by kind: answer, stream (watches, followed logs and proxied " +
      "responses) and upgrade (exec, attach and port-forward).",
  ),
  latchkey_connected_cluster_reachable: gauge(
    ["cluster"],
    "1 if the API server of a connected cluster accepts the credential of its kubeconfig, 0 " +
      "if it does not, does not answer, or the kubeconfig is not usable; for at most 100 " +
      "clusters, those at 0 first.",
  ),
  latchkey_connected_cluster_throttled: gauge(
    ["cluster"],
    "1 while a connected cluster sends more events than the gateway reads, else 0.",
  ),
  latchkey_cluster_labels_trusted: gauge(
    ["cluster"],
    "1 if projects, spaces, virtual clusters and roles of scopes go by the labels of " +
      "namespaces in a connected cluster, 0 if they cover nothing there, because the policy " +
      "that guards the labels is missing or the namespaces are not known; for at most 100 " +
      "clusters where a scope needs them, those at 0 first.",
  ),
  latchkey_policy_shipped: gauge(
    ["policy"],
    "1 if a policy and its binding are those of this or a former release of Latchkey, else 0.",
  ),
  latchkey_connected_clusters: gauge(["state"], "Connected clusters, reachable or unreachable."),
  latchkey_outbox_secrets: gauge(
    ["cluster"],
    "Secrets in the outbox of a connected cluster, withdrawals included; for at most 100 " +
      "clusters with an outbox, those without a heartbeat for longest first, as for the three " +
      "metrics that follow. Every replica of the controller counts all of them.",
  ),
  latchkey_outbox_withdrawals: gauge(
    ["cluster"],
    "Withdrawn SharedSecrets that the agent of a connected cluster has not confirmed.",
  ),
  latchkey_outbox_bytes: gauge(
    ["cluster"],
    "Bytes of the data in the outbox of a connected cluster, in base64; at most " +
      "--maximum-outbox-bytes.",
  ),
  latchkey_cluster_agent_heartbeat_age_seconds: gauge(
    ["cluster"],
    "Time since the agent of a connected cluster last wrote its Lease, in seconds by the clock " +
      "of the controller; right after its start, by the time in the Lease.",
  ),
  latchkey_revoked_list_refusals_total: counter(
    ["reason"],
    "Lists of revoked tokens of the issuer that a direct endpoint or authorizer refused, by " +
      "reason: older (than the list in use), unknown-kid, signature, issuer, claims, seq, " +
      "entries, oversized, malformed, algorithm, type, header.",
  ),
  latchkey_revoked_list_confirmed_timestamp_seconds: gauge(
    [],
    "Time when the issuer last confirmed the list of revoked tokens, in seconds since the " +
      "epoch; after a restart, when the kept list was signed; 0 if no list is known.",
  ),
  latchkey_roles_list_refusals_total: counter(
    ["reason"],
    "Lists of roles of the issuer that a direct endpoint or authorizer refused, by reason: " +
      "older (signed more than ten minutes ago: compare the clocks), roles (not a list of this " +
      "version), and those of latchkey_revoked_list_refusals_total.",
  ),
  latchkey_roles_list_confirmed_timestamp_seconds: gauge(
    [],
    "Time when the issuer last confirmed the list of roles, in seconds since the epoch; after " +
      "a restart, when the kept list was signed; 0 if no list is known.",
  ),
  latchkey_cluster_agent_heard_age_seconds: gauge(
    [],
    "Time since the agent has read its outbox, in seconds; above 60, copies stay as they are.",
  ),
  latchkey_cluster_agent_state: gauge(
    ["state"],
    "1 for the state of this replica of the agent, else 0: working, waiting (for the outbox), " +
      "policies-missing, disconnected and duplicate.",
  ),
  latchkey_http_refusals_total: counter(
    ["server", "reason"],
    "Connections and requests that a server refused, by server (http, webhook, issuer; " +
      "gateway, also of a direct endpoint) and reason: connection (closed for a new one), " +
      "too-large, too-slow and overloaded (request body).",
  ),
  latchkey_build_info: gauge(["version"], "1, with the version of Latchkey."),
};

function counter<Label extends string>(
  labels: readonly Label[],
  help: string,
): Declared<"counter", Label> {
  return { type: "counter", labels, help };
}

function gauge<Label extends string>(
  labels: readonly Label[],
  help: string,
): Declared<"gauge", Label> {
  return { type: "gauge", labels, help };
}

function histogram<Label extends string>(
  labels: readonly Label[],
  buckets: number[],
  help: string,
): DeclaredHistogram<Label> {
  return { type: "histogram", labels, buckets, help };
}
