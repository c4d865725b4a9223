// The users of one installation in its MongoDB. Run by an administrator, with both passwords in the
// environment; run again it changes the passwords, and brings the roles up to date:
//
//   PROJECTOR_PASSWORD=… QUERY_PASSWORD=… mongosh "mongodb://…/admin" --file deploy/privileges/mongodb.js
//
// Databases come and go with generations, so privileges are for all databases of the deployment:
// give the installation one of its own. The commands (`store-data`) use the projector's user: a
// revocation ends transactions of its sessions, and nobody ends another's.
/* global db, process */
const anywhere = { db: '', collection: '' };
const admin = db.getSiblingDB('admin');

function ensureRole(name, privileges) {
  const { roles } = admin.runCommand({ rolesInfo: name });
  admin.runCommand({
    [roles.length === 0 ? 'createRole' : 'updateRole']: name,
    privileges,
    roles: [],
  });
}

function ensureUser(name, pwd, role) {
  const { users } = admin.runCommand({ usersInfo: name });
  admin.runCommand({
    [users.length === 0 ? 'createUser' : 'updateUser']: name,
    pwd,
    roles: [role],
  });
}

ensureRole('storeDataQuery', [{ resource: anywhere, actions: ['find'] }]);
ensureRole('storeDataProjector', [
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
]);
ensureUser('store-data-query', process.env.QUERY_PASSWORD, 'storeDataQuery');
ensureUser('store-data-projector', process.env.PROJECTOR_PASSWORD, 'storeDataProjector');
