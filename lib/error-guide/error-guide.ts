import type { ErrorCode } from "../errors.ts";
import type { ErrorExplanation } from "./explanation.ts";
import { fleetErrors } from "./fleet.ts";
import { machineErrors } from "./machines.ts";
import { requestErrors } from "./requests.ts";

/**
 * Explains every error code to people: for pages, command lines and help texts. A code that is added to the table does not
 * compile until it is explained here; `docs/errors.md` is written from this.
 */
export const errorGuide: Readonly<Record<ErrorCode, ErrorExplanation>> = {
  ...requestErrors,
  ...fleetErrors,
  ...machineErrors,
};
