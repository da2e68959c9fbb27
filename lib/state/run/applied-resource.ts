import type { Prior } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";

/** What was applied to a machine, and what to come back to when it is no longer desired. */
export interface AppliedResource {
  resource: ResolvedResource;
  /** What stood before our first change; null = we never changed it, or there is nothing to come back to. */
  prior: Prior | null;
  /** Set where we changed it and there is nothing to come back to: what stands there now is ours, and no prior. */
  changed?: true | undefined;
  /** Set where it is not desired any more and the last try to remove it failed. */
  stuck?: true | undefined;
  /** What else was applied that says the same of the thing: it stays for as long as one of them is desired. Absent = nothing. */
  others?: ResolvedResource[] | undefined;
}

/** What stood before a thing that is about to be changed, and what it is about, across types: links and all may be others later. */
export interface CapturedResource extends AppliedResource {
  identity: string;
}
