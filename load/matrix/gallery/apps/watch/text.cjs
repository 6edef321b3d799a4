exports.text = 'before the edit';
