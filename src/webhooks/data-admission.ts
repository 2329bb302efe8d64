import { dataValueProblem } from "../domain/shared-secret/data-values.ts";
import { type AdmissionStep, admitted, refusedField } from "./admission.ts";

/**
 * Says which value of a SharedSecret's data is not base64; the schema refuses it, too, but its
 * answer names no fix.
 */
export const base64Data: AdmissionStep = (request) => {
  const problem = dataValueProblem(request.object, request.oldObject);
  return problem === undefined ? admitted(request) : refusedField(problem);
};
