/** An operation as it is accepted. */
export interface AcceptedOperation {
  operation_id: string;
  /** Making, telling, comparing and letting go. */
  kind: "apply" | "plan" | "check" | "run" | "forget";
  /** RFC 3339: the command may not begin, and can't arrive, after it. */
  not_after: string;
}
