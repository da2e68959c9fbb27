import { OrchestratorError } from "../errors.ts";
import type { Host, HostBackups, HostCommand, HostFiles } from "../host/host.ts";

/** A call that changed something, or ran a program. */
export interface RecordedCall {
  call: string;
  /** The path, or the program. */
  path: string;
}

/** Gives every call that changes something, or asks a program ("ask"), to `record` before it is made; `record` may throw in its place. */
export function recordCalls(host: Host, record: (call: RecordedCall) => void): Host {
  const noted = notedBy(record);
  const recordFiles = (files: HostFiles): HostFiles => ({
    below: (folder) => recordFiles(files.below(folder)),
    stat: (path) => files.stat(path),
    ledBy: (path) => files.ledBy(path),
    readFile: (path, expected) => files.readFile(path, expected),
    hashFile: (path, signal) => files.hashFile(path, signal),
    compareFile: (path, content) => files.compareFile(path, content),
    readLink: (path) => files.readLink(path),
    extras: (path) => files.extras(path),
    requireChangeable: (path, change, options) => files.requireChangeable(path, change, options),
    list: (path) => files.list(path),
    writeFile: noted("writeFile", (path, content, attributes) => files.writeFile(path, content, attributes)),
    makeDirectory: noted("makeDirectory", (path, attributes) => files.makeDirectory(path, attributes)),
    makeSymlink: noted("makeSymlink", (path, target, owner) => files.makeSymlink(path, target, owner)),
    move: noted("move", (from, to: string) => files.move(from, to)),
    setAttributes: noted("setAttributes", (path, attributes) => files.setAttributes(path, attributes)),
    removeFile: noted("removeFile", (path) => files.removeFile(path)),
    removeDirectory: noted("removeDirectory", (path) => files.removeDirectory(path)),
  });
  return {
    platform: host.platform,
    isConfined: host.isConfined,
    mark: host.mark,
    ...(host.workFolder && { workFolder: host.workFolder }),
    ...(host.ownProcess && { ownProcess: host.ownProcess.bind(host) }),
    users: host.users,
    files: recordFiles(host.files),
    backups: recordBackups(host.backups, record),
    sha256: (content) => host.sha256(content),
    run(command: HostCommand, signal) {
      record({ call: command.asks === true ? "ask" : "run", path: command.argv[0] });
      return host.run(command, signal);
    },
    download(request, signal) {
      record({ call: "download", path: request.path });
      return host.download(request, signal);
    },
    ...(host.askDownload && {
      askDownload: (question, signal) => host.askDownload?.(question, signal) ?? Promise.resolve(null),
    }),
    barrier: () => host.barrier(),
  };
}

/** Notes in which order copies are saved, barriers reached and changes made, each once however often in a row. */
export function orderCalls(host: Host): { host: Host; order: readonly string[] } {
  const order: string[] = [];
  const note = (kind: string): void => void (order.at(-1) !== kind && order.push(kind));
  const noted = recordCalls(host, ({ call }) => {
    if (call !== "ask") note(call === "save" ? call : "change");
  });
  return { host: { ...noted, barrier: () => (note("barrier"), host.barrier()) }, order };
}

/** Refuses every change, but no copy. */
export function refusing(host: Host, message: string): Host {
  return recordCalls(host, ({ call, path }) => {
    if (call !== "save") throw new OrchestratorError("HOST_ERROR", { message, details: { path } });
  });
}

type Recorder = (call: RecordedCall) => void;

function notedBy(record: Recorder) {
  return <A extends [string, ...unknown[]], R>(call: string, act: (...args: A) => R) =>
    (...args: A): R => {
      record({ call, path: args[0] });
      return act(...args);
    };
}

function recordBackups(backups: HostBackups, record: Recorder): HostBackups {
  return {
    below: (folder) => recordBackups(backups.below(folder), record),
    save: notedBy(record)("save", (path, options) => backups.save(path, options)),
    sizeBytes: (sha256) => backups.sizeBytes(sha256),
    read: (sha256) => backups.read(sha256),
    restore(sha256, path, options) {
      record({ call: "restore", path });
      return backups.restore(sha256, path, options);
    },
    prune: (keep) => backups.prune(keep),
  };
}
