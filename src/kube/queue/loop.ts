import type { Key } from "../../api/object.ts";
import type { Result } from "../../api/result.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/log.ts";
import type { ControllerMetrics } from "../../runtime/work-metrics.ts";
import { isKubeError, type KubeError } from "../client/kube-error.ts";
import type { WorkQueue } from "./work-queue.ts";
import type { Yielder } from "../../runtime/yielder.ts";

/** Dependencies of a controller's loop; `name` is in every log line. */
export interface LoopOptions {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly reconcile: (key: Key) => Promise<Result>;
  /** Number of concurrent reconciles. */
  readonly workers: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly yielder: Yielder;
  readonly log: Logger;
  readonly metrics: ControllerMetrics;
}

/**
 * Reconciles every key of the queue until `signal` aborts; resolves when the running reconciles
 * have ended.
 */
export async function runLoop(options: LoopOptions): Promise<void> {
  const { queue, signal } = options;
  const close = (): void => queue.close();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  await Promise.all(Array.from({ length: options.workers }, () => work(options)));
}

async function work(options: LoopOptions): Promise<void> {
  const { queue, yielder } = options;
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    await reconcileOne(key, options);
    queue.done(key);
    // Reconciles without requests would otherwise run as one chain of promises.
    await yielder.yieldIfDue();
  }
}

async function reconcileOne(key: Key, options: LoopOptions): Promise<void> {
  const { queue, metrics, clock } = options;
  const began = clock.monotonic();
  metrics.began();
  const seconds = (): number => (clock.monotonic() - began) / 1000;
  try {
    const next = await options.reconcile(key);
    requeue(key, next, queue);
    metrics.ended(next.kind === "done" ? "success" : "requeue_after", seconds());
  } catch (error) {
    metrics.ended(isKubeError(error, "Fenced") ? "requeue_after" : "error", seconds());
    if (isKubeError(error)) retry(key, error, options);
    else reportBug(key, error, options);
  }
}

function requeue(key: Key, next: Result, queue: WorkQueue): void {
  if (next.kind === "requeue-with-backoff") return queue.addAfterFailure(key, next.atLeastMs);
  queue.forget(key);
  if (next.kind === "requeue-at") queue.addAt(key, next.at);
}

function retry(key: Key, error: KubeError, { name, queue, log }: LoopOptions): void {
  queue.addAfterFailure(key, error.retryAfterMs);
  const fields = { controller: name, object: key, code: error.code, why: error.message };
  if (error.code === "Fenced") log.debug(fields, "write not sent without the Lease, requeueing");
  else if (error.code === "Conflict") log.info(fields, "conflict, requeueing");
  else log.warn(fields, "request failed, requeueing");
}

function reportBug(key: Key, error: unknown, { name, queue, log, metrics }: LoopOptions): void {
  queue.addAfterFailure(key);
  metrics.unexpectedError();
  log.error(
    { controller: name, object: key, error },
    "reconcile failed with an unexpected error, requeueing",
  );
}
