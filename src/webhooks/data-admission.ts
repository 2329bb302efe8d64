import { dataValueProblem } from "../domain/shared-secret/data-values.ts";
import { type AdmissionStep, admitted, refusedField } from "./admission.ts";

/**
 * Refuses values of a SharedSecret's data that are not base64; the schema rejects them, too, but
 * its message names no fix.
 */
export const base64Data: AdmissionStep = (request) => {
  const problem = dataValueProblem(request.object, request.oldObject);
  return problem === undefined ? admitted(request) : refusedField(problem);
};
