#!/usr/bin/env bash
# Starts a mongod, a replica set with one member on loopback, runs a command, and stops the mongod:
#   hack/with-mongod.sh command…      (MONGODB_URI has the connection string, MONGOD_PID the process ID)
set -euo pipefail
cd "$(dirname "$0")/.."
mongod=$(hack/mongod.sh)
scratch=$(mktemp -d)
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
mkdir "$scratch/data"
"$mongod" --replSet rs0 --dbpath "$scratch/data" --bind_ip 127.0.0.1 --port "$port" --nounixsocket \
  --wiredTigerCacheSizeGB "${MONGOD_CACHE_GB:-0.25}" --oplogSize 400 --setParameter diagnosticDataCollectionEnabled=false > "$scratch/mongod.log" 2>&1 &
MONGOD_PID=$!
trap 'kill "$MONGOD_PID" 2>/dev/null; wait "$MONGOD_PID" 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 143' TERM INT
node --input-type=module -e '
import { MongoClient } from "mongodb";
const host = process.argv[1];
const end = Date.now() + 180_000;
for (;;) {
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, { serverSelectionTimeoutMS: 2_000 });
  try {
    const admin = client.db("admin");
    const { isWritablePrimary, setName } = await admin.command({ hello: 1 });
    if (isWritablePrimary) break;
    if (setName === undefined) await admin.command({ replSetInitiate: { _id: "rs0", members: [{ _id: 0, host }] } });
  } catch (error) {
    if (Date.now() > end) throw error;
  } finally {
    await client.close();
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
}
process.exit(0);
' "127.0.0.1:$port" || { tail -5 "$scratch/mongod.log" >&2; exit 1; }
export MONGOD_PID MONGODB_URI="mongodb://127.0.0.1:$port/?replicaSet=rs0"
status=0
"$@" || status=$?
exit $status
