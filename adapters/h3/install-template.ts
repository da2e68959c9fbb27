/** The text of `GET /install.sh`, with a mark where each fact is written in. */
import { downloadFunctions } from "./install-download.ts";

/** The script; `@NAME@` stands for a fact. */
export const installTemplate = `#!/bin/sh
# Installs the Fleetwright agent and starts it for the server below. Run it again to upgrade; --help tells its options.
#   programs   /opt/fleetwright-agent, a folder for each version; "current" is the one that runs
#   settings   /etc/fleetwright-agent       key and state   /var/lib/fleetwright-agent
set -eu
server=@SERVER@
agent_url=@AGENT_URL@
orchestrator_key=@KEY@
version=@VERSION@
home=/opt/fleetwright-agent
etc=/etc/fleetwright-agent
state=/var/lib/fleetwright-agent
lock=/run/fleetwright-agent.install

usage() {
  cat << 'END'
install.sh [--token TOKEN | --token-file FILE] [--ca-file FILE] [--with-node] [--no-start]
install.sh --uninstall
  --token TOKEN      an enrolment token, which approves this machine. "ps" shows it while this runs, and --token-file does not
  --token-file FILE  a file that holds it. So does FLEETWRIGHT_ENROLMENT_TOKEN of the environment, which sudo takes away unless it
                     is told: sudo --preserve-env=FLEETWRIGHT_ENROLMENT_TOKEN sh
  --ca-file FILE     certificates, PEM, to know the server by
  --with-node        use the Node of this machine (20.19 or newer), not the one inside
  --no-start         install, and leave it to you to start it
  --uninstall        take the agent away, with its key and state
END
}

fail() {
  printf 'install.sh: %s\\n' "$*" >&2
  exit 1
}

# Two runs at a time would take each other's files away. The system gives the lock back when a run ends, however it does.
take_lock() {
  if [ ! -d /run ] || ! command -v flock > /dev/null; then return 0; fi
  exec 9> "$lock"
  tries=0
  until flock -n 9; do
    tries=$((tries + 1))
    [ "$tries" -le 5 ] || fail "another run of it is under way, which holds $lock."
    sleep 1
  done
}

# shellcheck disable=SC2317 # A trap calls it.
clean_up() {
  if [ -n "$work" ]; then rm -rf "$work"; rmdir "$home" 2> /dev/null || true; fi
}

# The sha256 of the agent for a platform; nothing where the server has none.
hash_of() {
  sha256=
  case "$1" in
@ARTIFACTS@
  esac
}

${downloadFunctions}

init_system() {
  if [ -d /run/systemd/system ]; then echo systemd
  elif command -v rc-service > /dev/null && [ -d /run/openrc ]; then echo openrc
  elif [ -d /etc/init.d ] && command -v update-rc.d > /dev/null && command -v start-stop-daemon > /dev/null; then echo sysvinit
  else echo none; fi
}

# Unpacks the agent into a folder of its own and tries it there, before anything of this machine is changed.
place() {
  case "$(uname -m)" in
    x86_64 | amd64) platform=linux-x64 ;;
    aarch64 | arm64) platform=linux-arm64 ;;
    *) platform=node ;;
  esac
  hash_of "$platform"
  if [ -n "$with_node" ] || [ -z "$sha256" ]; then platform=node; hash_of node; fi
  [ -n "$sha256" ] || fail "the server has no agent for $(uname -sm); 'npm run build:agent' makes one there."
  folder=$version-$platform-$(printf %.8s "$sha256")
  [ ! -d "$home/$folder" ] || return 0
  mkdir -p "$home"
  work=$(mktemp -d "$home/new.XXXXXX")
  fetch "$server/agent/$platform" "$work/agent.tar.gz" || fail "$server/agent/$platform could not be fetched.
  $(head -n 1 "$work/told" 2> /dev/null || tail -n 1 "$work/head")"
  found=$(sha256sum "$work/agent.tar.gz")
  [ "\${found%% *}" = "$sha256" ] || fail "what came from $server/agent/$platform is not what this script was made for: its sha256 is
  \${found%% *}, not
  $sha256. Nothing was installed."
  mkdir "$work/version"
  tar -xzf "$work/agent.tar.gz" -C "$work/version" --no-same-owner ||
    fail "the agent could not be unpacked below $home. Nothing was changed."
  chmod 755 "$work/version"
  if [ "$platform" = node ] && command -v node > /dev/null; then ln -s "$(command -v node)" "$work/version/node"; fi
  told=$("$work/version/fleetwright-agent" --version 2>&1) || fail "the agent does not run here: $told"
  mv "$work/version" "$home/$folder"
}

# What agent.conf says, in whichever spelling the agent takes: with blanks, in quotes, after "export".
value_of() {
  sed -n "s/^[[:space:]]*\\(export[[:space:]]\\{1,\\}\\)\\{0,1\\}$1[[:space:]]*=[[:space:]]*//p" "$etc/agent.conf" | tail -n 1 |
    sed "s/[[:space:]]*\\$//; s/^\\"\\(.*\\)\\"\\$/\\1/; s/^'\\(.*\\)'\\$/\\1/"
}

# Whether agent.conf names the key of this server, be it as hex or as base64.
obeys_server() {
  key=$(value_of orchestrator_key)
  case "$key" in
    "" | *[!0-9A-Fa-f]*) key=$(printf %s "$key" | tr -- -_ +/ | base64 -d 2> /dev/null | od -An -v -tx1 | tr -d ' \\n') ;;
  esac
  [ "$(printf %s "$key" | tr A-F a-f)" = "$orchestrator_key" ]
}

# The address of a server in the form that agents connect to.
agent_address() {
  address=$(printf %s "$1" | sed 's|^http|ws|; s|/$||')
  case "\${address#*://}" in
    */*) printf %s "$address" ;;
    *) printf %s "$address/agent/v1" ;;
  esac
}

# Settings are written once: what an operator changed stays.
configure() {
  mkdir -p "$etc"
  chmod 755 "$etc"
  if [ -n "$token" ]; then
    # A new file: an old one may be open to others, or a link.
    rm -f "$etc/token.new"
    (umask 077 && printf '%s\\n' "$token" > "$etc/token.new")
    mv -f "$etc/token.new" "$etc/token"
  fi
  if [ -n "$ca" ]; then
    # A copy: where the file lies now, others may write, or nobody keep it.
    cat "$ca" > "$etc/ca.pem.new"
    chmod 644 "$etc/ca.pem.new"
    mv "$etc/ca.pem.new" "$etc/ca.pem"
    grep -qs '^NODE_EXTRA_CA_CERTS=' "$etc/environment" || echo "NODE_EXTRA_CA_CERTS=$etc/ca.pem" >> "$etc/environment"
  fi
  if [ ! -f "$etc/agent.conf" ]; then
    cat > "$etc/agent.conf.new" << END
# Each line is an option of fleetwright-agent --help, written so: terminals = false
url = $agent_url
orchestrator_key = $orchestrator_key
\${token:+token_file = $etc/token}
END
    mv "$etc/agent.conf.new" "$etc/agent.conf"
    return 0
  fi
  url=$(value_of url)
  if [ -z "$url" ]; then told="looks for a server by itself"; else told="connects to $url"; fi
  [ "$(agent_address "$url")" = "$(agent_address "$agent_url")" ] || echo "$etc/agent.conf stays as it is: the agent $told. This server is at $agent_url."
  [ -n "$token" ] || return 0
  file=$(value_of token_file)
  # Whoever wrote the file may have left its last line without an end.
  if [ -z "$file" ]; then printf '\\ntoken_file = %s\\n' "$etc/token" >> "$etc/agent.conf"
  elif [ "$file" != "$etc/token" ]; then echo "$etc/agent.conf stays as it is: the agent reads the token in $file, and not the new one in $etc/token."; fi
}

switch() {
  previous=$(readlink "$home/current" || true)
  ln -sfn "$folder" "$home/current.new"
  mv -T "$home/current.new" "$home/current"
  mkdir -p /usr/local/bin
  ln -sfn "$home/current/fleetwright-agent" /usr/local/bin/fleetwright-agent
  # The version before stays, to go back to; where nothing was switched, that is whatever there is.
  [ "$previous" != "$folder" ] || return 0
  for old in "$home"/*/; do
    old=$(basename "$old")
    case "$old" in "$folder" | "$previous" | current | new.*) ;; *) rm -rf "\${home:?}/$old" ;; esac
  done
}

# What runs on behind it must not hold the lock.
start() {
  case "$init" in
    systemd)
      if [ -z "$packaged" ]; then cp "$home/current/fleetwright-agent.service" /etc/systemd/system/; fi
      systemctl daemon-reload
      systemctl enable --quiet fleetwright-agent.service
      [ -n "$no_start" ] || systemctl restart fleetwright-agent.service
      ;;
    openrc)
      if [ -z "$packaged" ]; then install -m 755 "$home/current/fleetwright-agent.openrc" /etc/init.d/fleetwright-agent; fi
      rc-update --quiet add fleetwright-agent default
      [ -n "$no_start" ] || rc-service fleetwright-agent restart 9>&-
      ;;
    sysvinit)
      if [ -z "$packaged" ]; then install -m 755 "$home/current/fleetwright-agent.sysvinit" /etc/init.d/fleetwright-agent; fi
      update-rc.d fleetwright-agent defaults
      [ -n "$no_start" ] || /etc/init.d/fleetwright-agent restart 9>&-
      ;;
  esac
}

# An agent that was here before stays who it is: nobody has to let it in again, unless it waits and has a token now.
known_agent() {
  if [ -n "$token" ]; then ! is_done || echo yes; else [ ! -f "$state/identity.json" ] || echo yes; fi
}

# An agent that is approved writes down the hash of the token that it has, with the first answer of the server.
is_done() {
  hash=$(printf %s "$token" | sha256sum)
  grep -qs "\${hash%% *}" "$state/enrolled.json"
}

tell_standing() {
  list="fleetwright agents list --status pending"
  [ -n "$token" ] || { echo "It waits to be approved: $list"; return 0; }
  tries=0
  until is_done || [ "$tries" -ge 15 ]; do
    tries=$((tries + 1))
    sleep 1
  done
  if is_done; then echo "It is approved."
  elif [ -f "$state/enrolled.json" ]; then echo "It came in by another token before, and has not brought this one yet. Its log says more."
  else echo "It is not approved after 15 s: the token may be used up, expired, revoked or wrong, or the server can't be reached. Its log says more, and on the server: $list"
  fi
}

main() {
  token=\${FLEETWRIGHT_ENROLMENT_TOKEN:-}
  inherited=\${FLEETWRIGHT_ENROLMENT_TOKEN-none}
  unset FLEETWRIGHT_ENROLMENT_TOKEN
  ca="" with_node="" no_start="" work="" uninstall="" packaged=""
  while [ $# -gt 0 ]; do
    case "$1" in
      --token | --token-file | --ca-file) [ -n "\${2:-}" ] || fail "$1 needs a value." ;;
    esac
    case "$1" in
      --token) token=$2; shift ;;
      --token-file)
        token=$(cat "$2") || fail "$2 can't be read."
        [ -n "$token" ] || fail "$2 is empty."
        shift
        ;;
      --ca-file) ca=$(readlink -f "$2") || true; [ -r "$ca" ] || fail "$2 can't be read."; shift ;;
      --with-node) with_node=yes ;;
      --no-start) no_start=yes ;;
      --uninstall) uninstall=yes ;;
      --help) usage; exit 0 ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  [ "$(uname -s)" = Linux ] || fail "the agent is built for Linux."
  [ "$(id -u)" = 0 ] || fail "it must be root: curl -fsS $server/install.sh | sudo sh -s -- ..."
  # A cut-off run leaves nothing but a folder that the next one removes.
  trap clean_up EXIT
  trap 'exit 1' HUP INT TERM
  if [ -n "$uninstall" ]; then
    [ -d "$home" ] || fail "there is no agent in $home."
    [ ! -f "$home/package" ] || fail "the agent came as a package: 'apt purge fleetwright-agent' or 'rpm -e fleetwright-agent'."
    take_lock
    for each in "$home/current/uninstall" "$home"/*/uninstall; do
      [ ! -f "$each" ] || { sh "$each"; exit $?; }
    done
    # A run that was cut off before it had unpacked an agent has made nothing else.
    rm -rf "$home"
    echo "The rest of an agent that was never installed is gone from this machine."
    exit 0
  fi
  [ -n "$token$inherited" ] || [ -f "$state/identity.json" ] || fail "FLEETWRIGHT_ENROLMENT_TOKEN is empty."
  case "$token" in *[!A-Za-z0-9_-]*) fail "that is no enrolment token." ;; esac
  if [ -f "$etc/agent.conf" ] && ! obeys_server; then
    fail "this machine has an agent of another server: $etc/agent.conf does not name the key of $server. Nothing was changed."
  fi
  init=$(init_system)
  if [ "$init" = none ] && [ -z "$no_start" ]; then
    fail "there is no systemd, OpenRC or sysvinit here to start the agent: --no-start installs it, and you start it. Nothing was changed."
  fi
  if [ -n "$ca" ]; then export CURL_CA_BUNDLE="$ca"; fi
  umask 022
  take_lock
  if [ -f "$home/package" ]; then
    packaged=yes
    echo "The agent is there as a package, which stays as it is: it is set up for $server."
  else
    rm -rf "$home"/new.*
    place
  fi
  configure
  [ -n "$packaged" ] || switch
  known=$(known_agent)
  start
  if [ -n "$no_start" ]; then
    echo "Installed. To start it: fleetwright-agent --config $etc/agent.conf --state-dir $state"
  else
    echo "Installed and started: fleetwright-agent $version, for $server."
    [ -n "$known" ] || tell_standing
  fi
}

# All of it is read before anything is done, up to this bracket: a connection that broke off does nothing.
{ main "$@"; exit; }
`;
