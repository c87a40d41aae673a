import Foundation
import OnnxRuntimeBindings

/// Which digit, and how sure: 0 to 1.
struct Guess: Equatable {
    let digit: Int
    let score: Float
}

enum DigitsError: Error {
    case noModel
    case otherModel(inputs: [String], outputs: [String])
    case wrongImage(count: Int)
    case noScores
}

/// The exported model, on a thread of its own: one drawing after the other.
/// The names, sizes and dtypes below are those of the file.
actor Digits {
    static let input = "image"
    static let output = "output_0"
    static let side = 8
    static let channels = 1
    static let classes = 10
    static let white: Float = 16

    private let environment: ORTEnv
    private let session: ORTSession

    /// - Parameter path: of the file; nil takes the one among the app's resources.
    init(path: String? = nil) throws {
        guard let file = path ?? Bundle.main.path(forResource: "digits", ofType: "onnx") else {
            throw DigitsError.noModel
        }
        environment = try ORTEnv(loggingLevel: .warning)
        let options = try ORTSessionOptions()
        try options.setIntraOpNumThreads(1)  // so small a model is slower on two
        session = try ORTSession(env: environment, modelPath: file, sessionOptions: options)
        let (inputs, outputs) = (try session.inputNames(), try session.outputNames())
        guard inputs.contains(Self.input), outputs.contains(Self.output) else {
            throw DigitsError.otherModel(inputs: inputs, outputs: outputs)
        }
    }

    /// The digit in an image of `side` rows of `side` values from 0 to `white`.
    func guess(_ image: [Float]) throws -> Guess {
        guard image.count == Self.side * Self.side else {
            throw DigitsError.wrongImage(count: image.count)
        }
        let bytes = image.withUnsafeBytes { NSMutableData(bytes: $0.baseAddress, length: $0.count) }
        let shape = [1, Self.side, Self.side, Self.channels].map { NSNumber(value: $0) }
        let tensor = try ORTValue(tensorData: bytes, elementType: .float, shape: shape)
        let results = try session.run(
            withInputs: [Self.input: tensor], outputNames: [Self.output], runOptions: nil)
        guard let data = try results[Self.output]?.tensorData() as Data?,
            data.count == Self.classes * MemoryLayout<Float>.stride
        else {
            throw DigitsError.noScores
        }
        let scores = data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        let best = scores.indices.max { scores[$0] < scores[$1] }!
        return Guess(digit: best, score: scores[best])
    }

    /// Means of squares of a drawing: what the model was trained on.
    ///
    /// - Parameters:
    ///   - pixels: brightness from 0 to 255, row by row.
    ///   - size: pixels in a row, a multiple of `side`.
    static func image(pixels: [UInt8], size: Int) -> [Float] {
        precondition(size % side == 0 && pixels.count == size * size)
        let step = size / side
        var sums = [Float](repeating: 0, count: side * side)
        for y in 0..<size {
            for x in 0..<size {
                sums[y / step * side + x / step] += Float(pixels[y * size + x]) / 255
            }
        }
        return sums.map { $0 / Float(step * step) * white }
    }
}
