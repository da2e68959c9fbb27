/** Explains the errors of machines, the storage and the process. */
import type { ErrorExplanation } from "./explanation.ts";

export const machineErrors = {
  NOT_CONVERGED: {
    meaning: "The resource still differs after it was applied.",
    cause:
      "Something on the machine changes it back at once, or the desired value is one that the machine normalises.",
    advice: "Look at the changes in the result; find what else manages this.",
  },
  HOST_ERROR: {
    meaning: "The machine refused.",
    cause:
      "No permission, no such path, no space, a read-only file system. `details` has the path and the system's error name.",
    advice: "Correct it on the machine, then apply again.",
  },
  PATH_OUTSIDE_ROOT: {
    meaning: "The path leaves the folder that the agent is confined to.",
    cause: "The agent was started with a root folder and a path, or a link on the way, leads out of it.",
    advice: "Use a path inside, or run the agent without that limit.",
  },
  OWN_SERVICE: {
    meaning: "The agent itself runs in this service.",
    cause:
      "A module, or the removal of one, would stop the service in which the agent of that machine runs. Nobody would start it again: it was not stopped.",
    advice:
      "Declare it `running: true`, with `restart_on` where it has to read something anew. To end the agent for good, stop its service on the machine; to let go of a service that is not desired any more, give it `removal: keep`.",
  },
  DOWNLOAD_FAILED: {
    meaning: "What was to be downloaded could not be had.",
    cause:
      "The server could not be reached or answered with an error, or what it gave is too long or has another SHA-256 than the declared one. Nothing was replaced.",
    advice:
      "Read the message. With another SHA-256, find out whether the file was renewed on purpose before you declare the new one.",
  },
  ARCHIVE_TOO_LARGE: {
    meaning: "The archive holds more than may be extracted.",
    cause:
      "Its files are larger together than `max_bytes` of the resource, or it has more than 100,000 entries: a mistake, or an archive that is made to fill the disk. Nothing of it was extracted; the message names archive and limit.",
    advice: "Look at where the archive comes from. If it is right, raise `max_bytes`.",
  },
  COMMAND_FAILED: {
    meaning: "A program that was run ended with an error.",
    cause:
      "It gave an exit code other than 0. The code is in the result, its output in the operation's output.",
    advice: "Read the output; correct the script or the machine.",
  },
  RESOURCE_TIMEOUT: {
    meaning: "The resource took longer than it may.",
    cause: "A program hangs or the limit is too short.",
    advice: "Look at the output so far; raise `timeout_seconds` of the resource if the time is needed.",
  },
  UNKNOWN_RESOURCE_TYPE: {
    meaning: "The type of a resource is not known to the agent, or not any more to the orchestrator.",
    cause:
      "The agent is older than the orchestrator, or a type of your own was given to one of them alone: `types` of the agent, `ownTypes` of the orchestrator.",
    advice: "The message says who lacks it. Update the agent, or start it or the orchestrator with the type.",
  },
  CANCELLED: {
    meaning: "It was cancelled.",
    cause: "Someone cancelled the operation, or the caller's signal was aborted.",
    advice: "Nothing needs to be done. What was finished before stays.",
  },
  STORAGE_FULL: {
    meaning: "There is no space to write.",
    cause:
      "The disk of the data folder is full or has no inodes left (`df -i`), or a quota is reached. Reading goes on.",
    advice:
      "Make space, or remove files where inodes are missing. Writing works again by itself, without a restart.",
  },
  STORAGE_FAILED: {
    meaning: "The storage can't be used.",
    cause:
      "The disk reported an error while data was being made durable, so what is on it is not certain, and nothing is written any more. Or a data folder can't be used at all: `details` has its `folder` and the system's `errno`. Or one call was refused, for want of open files (`EMFILE`) for example: the message has the reason.",
    advice:
      "Where nothing is written any more, look at the disk, then restart the process: it makes sure of what it reads. Else remove the reason; the next call works again.",
  },
  STORAGE_CLOSED: {
    meaning: "The storage is closed.",
    cause: "A call came after `stop()`.",
    advice:
      "Make the calls before, or start a new orchestrator. The client takes it for a service that is stopping: it sends a call again as often as `retry` says, and asks without end for a stream, or for what a command waits for, until one is there.",
  },
  STORAGE_LOCKED: {
    meaning: "Another process uses the data folder.",
    cause: "Two orchestrators were started on one folder.",
    advice: "Stop the other, or give this one a folder of its own.",
  },
  STORAGE_CORRUPT: {
    meaning: "The stored data is damaged.",
    cause: "A file was altered, or the disk lost part of it. `details` names the file and the place.",
    advice: "Restore a backup. A torn last line after a crash is not this: it is cut by itself.",
  },
  STORAGE_VERSION_UNSUPPORTED: {
    meaning: "The stored data was written by a newer version.",
    cause: "The package was downgraded.",
    advice: "Run the newer version, or restore a backup of the older one.",
  },
  BACKUP_UNSIGNED: {
    meaning: "The backup is not signed by any orchestrator.",
    cause:
      "A version before signatures made it, or somebody made it up or took the signature away: nothing in it says who.",
    advice:
      "If you know where it comes from and that nobody could change it, give `--unsigned` (`unsigned: true`) and no key or server. Take a new backup of the restored server.",
  },
  ADDRESS_IN_USE: {
    meaning: "The address is in use.",
    cause:
      "Another program listens there, often another copy of this one. Fleetwright never picks another port by itself.",
    advice: "Stop the other, or choose a port.",
  },
  CONFIGURATION_INVALID: {
    meaning: "The configuration is not valid.",
    cause:
      "A setting of the server has a value that can't be used, or the machine has not what it names: a file, a folder, an address to listen at.",
    advice:
      "The message names the flag, the variable or the file and says what is expected, of all settings at once.",
  },
  OPTIONS_INVALID: {
    meaning: "The options are not valid.",
    cause:
      "A program makes an orchestrator, a server, an agent, a storage or a transport with an option that is out of range, of another type or not known, or without one that is needed.",
    advice: "`issues` has every fault with its place, and the message names them all: correct them.",
  },
  UNAVAILABLE: {
    meaning: "The service is stopping, or not started.",
    cause:
      "It drains: what runs is finished, nothing new is taken. Or a program that embeds it made a call before `start()` was done. Between processes of one orchestrator: another is not reached, and `details.reason` says why.",
    advice:
      "Try again in a moment; it may be restarting. In a program, wait for `start()` before the first call.",
  },
  INTERNAL: {
    meaning: "Something went wrong inside.",
    cause: "A fault in Fleetwright. Nothing of its cause is told to the caller.",
    advice:
      "Find the request id in the log of the process, which has the cause with its stack, and report it.",
  },
} as const satisfies Record<string, ErrorExplanation>;
