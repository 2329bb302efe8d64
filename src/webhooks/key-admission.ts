import type { KeyBook } from "../access/key-book.ts";
import { soleExtra } from "../api/access-review.ts";
import { extras } from "../api/names.ts";
import { parseTerms } from "../api/owned-access-key.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import { attenuationProblem } from "../domain/attenuation.ts";
import type { Clock } from "../runtime/clock.ts";
import { digestIn, missingKey, withKey } from "../tokens/admitted-key.ts";
import { type AdmissionStep, admitted, refused } from "./admission.ts";

/** What admission of access keys is decided from. */
export interface KeyAdmissionDeps {
  readonly book: Pick<KeyBook, "holderOf" | "byId">;
  readonly clock: Pick<Clock, "now">;
}

/** Refuses a key that another object holds, in whatever form. */
export function soleHolder({ book }: KeyAdmissionDeps): AdmissionStep {
  return (request) => {
    const { object, oldObject } = request;
    const digest = digestIn(object);
    const holder = digest === undefined || digest === digestIn(oldObject) ? undefined : book.holderOf(digest);
    if (holder === undefined || holder.uid === stringAt(recordAt(object, "metadata"), "uid")) return admitted(request);
    return refused(422, "spec.key is the key of another OwnedAccessKey, which keeps it; set another one, or leave it empty to have one made");
  };
}

/** Refuses a key that reaches beyond the one that its request was made with. What changes a key in such a request, the policies refuse. */
export function attenuated({ book, clock }: KeyAdmissionDeps): AdmissionStep {
  return (request) => {
    const { user, object, oldObject } = request;
    if (user.extra[extras.keyId] === undefined || oldObject !== undefined) return admitted(request);
    const asking = book.byId(soleExtra(user, extras.keyId) ?? "") ?? "gone";
    const problem = attenuationProblem(parseTerms(recordAt(object, "spec")), asking, clock.now());
    return problem === undefined ? admitted(request) : refused(403, problem);
  };
}

/** Fills in a key that was sent empty. */
export const filledKey: AdmissionStep = (request) => {
  const { object, oldObject } = request;
  const key = missingKey(object, oldObject);
  return key === undefined ? admitted(request) : { kind: "admitted", object: withKey(object, key) };
};
