const { Origins, Server } = require('boardgame.io/server');

const game = {
  name: 'counter',
  setup: () => ({ count: 0 }),
  moves: { add: ({ G }, by) => ({ count: G.count + by }) },
  turn: { minMoves: 1, maxMoves: 1 },
};
Server({ games: [game], origins: [Origins.LOCALHOST] }).run({ port: Number(process.env.PORT), callback() {} });
