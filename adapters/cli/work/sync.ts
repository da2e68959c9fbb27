/** A fleet folder beside a server: the work of `fleetwright sync`. */
import type { FolderPlan, FolderStep } from "fleetwright";
import { ApiError } from "../../client/api-error.ts";
import { applyPlan, type Applied } from "../../sync/apply-plan.ts";
import { exportFolder } from "../../sync/export-folder.ts";
import { checkFolder, planFolder } from "../../sync/plan-folder.ts";
import { FolderError } from "../../sync/read-folder.ts";
import { writeFolder } from "../../sync/write-folder.ts";
import { askerOf, confirm, firstLines } from "../ask.ts";
import type { CommandCall } from "../call.ts";
import { exitCode, type ExitCode } from "../context.ts";
import { describeFailure, UsageError } from "../failure.ts";
import { countOf } from "../show-results.ts";
import {
  countSteps,
  describeFaults,
  describePlan,
  describeStep,
  describeUnmanaged,
  toShownStep,
} from "../show-sync.ts";
import { alignRows, toLine, toLines } from "../text.ts";

/** What `plan` and `apply` may be told. */
export interface SyncOptions {
  prune?: true;
  takeOver?: true;
  allowEmpty?: true;
  yes?: true;
}

/** What `export` is told. */
export interface SyncExportOptions {
  label: string;
  whole?: true;
  overwrite?: true;
  sensitive?: true;
}

/** `fleetwright sync check` */
export async function checkSync(call: CommandCall, folder: string): Promise<ExitCode> {
  const { label, things, faults } = await usable(checkFolder(folder));
  if (faults.length > 0) return refuse(call, faults);
  const names = things.map(({ name }) => ({ name }));
  call.showAbout(names, { label, things: things.length, faults }, () =>
    toLines([`${toLine(folder)}: ${label}, ${countOf(things.length, "thing")}, no fault`]),
  );
  return exitCode.ok;
}

/** `fleetwright sync plan` */
export async function planSync(call: CommandCall, folder: string, options: SyncOptions): Promise<ExitCode> {
  const plan = await planOf(call, folder, options);
  if (plan.faults.length > 0) return refuse(call, plan.faults);
  const { label, steps, removals, unmanaged } = plan;
  const shown = { label, steps: steps.map(toShownStep), removals: removals.map(toShownStep), unmanaged };
  call.showAbout([...steps, ...removals], shown, () => describePlan(plan, options.prune === true));
  return steps.length + removals.length > 0 ? exitCode.differs : exitCode.ok;
}

/** `fleetwright sync apply` */
export async function applySync(call: CommandCall, folder: string, options: SyncOptions): Promise<ExitCode> {
  const prune = options.prune === true;
  const plan = await planOf(call, folder, options);
  if (plan.faults.length > 0) return refuse(call, plan.faults);
  const steps = [...plan.steps, ...(prune ? plan.removals : [])];
  const ask = askerOf(call, options.yes);
  if (ask && steps.length > 0)
    await confirm(ask, {
      told: [...firstLines(alignRows(steps.map(describeStep))), countSteps(steps, { done: false })],
      question: steps.length === 1 ? "Make this change?" : "Make these changes?",
      otherwise: "Nothing was changed.",
    });
  const onDone = (step: FolderStep): void => {
    if (call.options.json !== true) call.context.stdout(toLines([describeStep(step).join("  ")]));
  };
  const applied = await stoppable(call, (signal) => applyPlan(call.client, plan, { prune, onDone, signal }));
  return tell(call, applied, prune ? { ...plan, removals: [] } : plan);
}

/** Has the first signal end the work after what it is at; the second ends the process. */
async function stoppable(
  { context }: CommandCall,
  work: (signal: AbortSignal) => Promise<Applied>,
): Promise<Applied> {
  const stop = new AbortController();
  const done = new AbortController();
  const stopped = context.untilStopped(done.signal).then(() => {
    if (done.signal.aborted) return;
    context.stderr("Finishing the step that it is at.\n");
    stop.abort();
  });
  try {
    return await work(stop.signal);
  } finally {
    done.abort();
    await stopped;
  }
}

/** `fleetwright sync export` */
export async function exportSync(
  call: CommandCall,
  folder: string,
  { label, whole, overwrite, sensitive }: SyncExportOptions,
): Promise<void> {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(label))
    throw new UsageError("A label is 1-64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit.");
  const { files, leftOut } = await exportFolder(call.client, {
    label,
    whole: whole === true,
    sensitive: sensitive === true,
  });
  const { removed, kept } = await usable(writeFolder(folder, files, { overwrite: overwrite === true }));
  for (const path of removed)
    call.context.stderr(`Removed: ${toLine(`${folder}/${path}`)}: this export has no such file.\n`);
  for (const path of kept)
    call.context.stderr(`Left as it was: ${toLine(`${folder}/${path}`)}, which is not of this export.\n`);
  for (const { kind, name, why } of leftOut)
    call.context.stderr(`Left out: ${toLine(`${kind}.${name}`)}, since ${why}.\n`);
  const written = files.map(({ path }) => ({ name: `${folder}/${path}` }));
  call.showAbout(
    written,
    { label, files: files.map(({ path }) => path), left_out: leftOut, removed, kept },
    () => toLines(written.map(({ name }) => toLine(name))),
  );
}

function planOf(
  call: CommandCall,
  folder: string,
  { takeOver, prune, allowEmpty }: SyncOptions,
): ReturnType<typeof planFolder> {
  const options = { takeOver: takeOver === true, prune: prune === true, allowEmpty: allowEmpty === true };
  return usable(planFolder(call.client, folder, options));
}

function refuse(call: CommandCall, faults: FolderPlan["faults"]): ExitCode {
  call.refuse({ faults }, () => describeFaults(faults));
  return exitCode.failure;
}

function tell(call: CommandCall, applied: Applied, plan: FolderPlan): ExitCode {
  const { done, failed, left } = applied;
  const { context, options } = call;
  const isWhole = failed === null && left.length === 0;
  if (options.json === true) showJson(call, applied);
  else if (isWhole) {
    const said =
      done.length === 0 ? "Nothing was to be changed." : `Done: ${countSteps(done, { done: true })}`;
    context.stdout(toLines([said]));
    context.stderr(describeUnmanaged(plan));
    if (plan.removals.length > 0)
      context.stderr(`Left, for --prune was not given: ${countSteps(plan.removals, { done: false })}\n`);
  }
  if (isWhole) return exitCode.ok;
  if (failed === null) {
    context.stderr(`fleetwright: It was stopped.\n${describeBroken(applied)} ${again}\n`);
    return exitCode.failure;
  }
  const { step, error } = failed;
  const { text, code } = describeFailure(error);
  const what = `${step.kind.slice(0, -1)} ${step.name}`;
  context.stderr(text.replace(/^fleetwright: /, (start) => `${start}${toLine(what)}: `));
  context.stderr(`${describeBroken(applied)} ${adviceFor(error)}\n`);
  return code;
}

/** What was done before it ended, and what was not. */
function describeBroken({ done, left, half }: Applied): string {
  const before = done.length === 0 ? "Nothing was done" : `Done: ${countSteps(done, { done: true })}`;
  const rest = left.length === 0 ? "nothing" : countSteps(left, { done: false });
  const names = half.map((each) => toLine(each.name)).join(", ");
  const gone = half.length > 0 ? ` The old one is gone, and the new one is not there, of: ${names}.` : "";
  return `${before} before it.${gone} Not begun: ${rest}.`;
}

const again = "Run it again for the rest.";

/** A contradiction that no other step has ended is one of the folder, or of what others keep on the server. */
function adviceFor(error: unknown): string {
  return error instanceof ApiError && error.code === "RESOURCE_CONFLICT"
    ? "Nothing else of the folder makes room for it. Where two modules exchange a resource, take it from one of them, apply, and give it to the other."
    : again;
}

function showJson(call: CommandCall, { done, failed, left, half }: Applied): void {
  const failure = failed && {
    ...toShownStep(failed.step),
    is_half_done: half.includes(failed.step),
    message: describeFailure(failed.error).text.trimEnd(),
  };
  const [shownDone, shownLeft, shownHalf] = [done, left, half].map((steps) => steps.map(toShownStep));
  const value = { done: shownDone, failed: failure, left: shownLeft, half_done: shownHalf };
  call.showAbout(done, value, () => "");
}

/** A folder that can't be used is a matter of how the command was called. */
async function usable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof FolderError) throw new UsageError(error.message);
    throw error;
  }
}
