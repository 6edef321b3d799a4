/** What each must end with: the connection of the client itself, and nothing else. */
export const packets = {
  'data nested deeper than the stack': (client) =>
    client.send([`42["echo",${'['.repeat(40_000)}${']'.repeat(40_000)}]`]),
  'a million attachments': (client) => client.send(['451000000-["echo",{"_placeholder":true,"num":0}]']),
  'a place for an attachment that is none': (client) =>
    client.send(['451-["echo",{"_placeholder":true,"num":5}]', Buffer.of(1)]),
  'an unannounced attachment': (client) => client.send([Buffer.of(1, 2, 3)]),
  'a text in place of an attachment': (client) =>
    client.send(['451-["echo",{"_placeholder":true,"num":0}]', '42["echo"]']),
  'an event of the library itself': (client) => client.send(['42["disconnect"]']),
  'thirty thousand CONNECTs': (client) => client.send(Array.from({ length: 30_000 }, () => '40')),
  'an event that is no array': (client) => client.send(['42{"__proto__":["echo"]}']),
  'a namespace that was not joined': (client) => client.send(['42/__proto__,["echo"]']),
};
