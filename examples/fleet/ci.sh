#!/bin/sh
# What a continuous integration does with a fleet folder. It needs of its surroundings
#   FLEETWRIGHT_URL   where the server is
#   FLEET_KEY_FILE    a private key: of a Viewer for plan and drift, of an Admin for apply
#   FLEET_ORCHESTRATOR_KEY   the server's public key, as `serve` prints it
set -eu
work=$1
folder=$2

# Needs neither a server nor a key.
fleetwright sync check "$folder"
[ "$work" != check ] || exit 0

fleetwright login --key "$FLEET_KEY_FILE" --orchestrator-key "$FLEET_ORCHESTRATOR_KEY"
case $work in
  # For a pull request: what it would change. That something differs (3) is what it is for.
  plan)
    code=0
    fleetwright sync plan "$folder" --prune || code=$?
    [ "$code" -eq 3 ] || exit "$code"
    ;;
  # After the merge.
  apply) fleetwright sync apply "$folder" --prune --yes ;;
  # Every night: fails with 3 where somebody changed the server by hand.
  drift) fleetwright sync plan "$folder" ;;
  *)
    echo "usage: ci.sh check|plan|apply|drift FOLDER" >&2
    exit 2
    ;;
esac
