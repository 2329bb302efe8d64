import { isKubeError } from "../kube/client/kube-error.ts";
import { UsageError } from "../runtime/config-values.ts";

/** Turns the error of a missing object into a UsageError with this sentence. */
export function notFound(sentence: string): (error: unknown) => never {
  return (error) => {
    throw isKubeError(error, "NotFound") ? new UsageError(sentence) : error;
  };
}
