// The users of one installation in its MongoDB. Run by an administrator, with both passwords in the environment:
//
//   PROJECTOR_PASSWORD=… QUERY_PASSWORD=… mongosh "mongodb://…/admin" --file deploy/privileges/mongodb.js
//
// Databases come and go with generations, so privileges are for all databases of the deployment: give the installation one of its
// own. The commands (`store-data`) use the projector's user: a revocation ends transactions of its sessions, and nobody ends another's.
/* global db, process */
const anywhere = { db: '', collection: '' };

db.getSiblingDB('admin').runCommand({
  createRole: 'storeDataQuery',
  privileges: [{ resource: anywhere, actions: ['find'] }],
  roles: [],
});
db.getSiblingDB('admin').runCommand({
  createRole: 'storeDataProjector',
  privileges: [
    {
      resource: anywhere,
      actions: [
        'find',
        'insert',
        'update',
        'remove',
        'createCollection',
        'createIndex',
        'listCollections',
        'listIndexes',
        'dropDatabase',
      ],
    },
    // `verify --deep` finds the databases that an earlier one left.
    { resource: { cluster: true }, actions: ['listDatabases'] },
  ],
  roles: [],
});
db.getSiblingDB('admin').runCommand({
  createUser: 'store-data-query',
  pwd: process.env.QUERY_PASSWORD,
  roles: ['storeDataQuery'],
});
db.getSiblingDB('admin').runCommand({
  createUser: 'store-data-projector',
  pwd: process.env.PROJECTOR_PASSWORD,
  roles: ['storeDataProjector'],
});
