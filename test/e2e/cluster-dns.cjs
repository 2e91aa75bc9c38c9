// Loaded into the replicas: the names of the cluster's Services lead to localhost, because the tests run their processes without pods.
const dns = require('node:dns');

const { lookup } = dns;
dns.lookup = (hostname, options, callback) =>
  lookup(/\.svc$/.test(hostname) ? '127.0.0.1' : hostname, options, callback);
